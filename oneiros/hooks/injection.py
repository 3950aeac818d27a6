"""What a hook puts before the model: text of layer 1 alone, inside the tag that ingest cuts out again.

The same memory gives the same bytes: no clock, no score and no counter is written here. The text is data: what could
close the tag or hide from a reader is written out.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crawler.transcripts.injected import TAG
from memory_server.escaping import escape_text

OPENING = f'<{TAG} layer="topic">'
CLOSING = f"</{TAG}>"
HARD_STOP_CHARS = 9_000  # the client cuts at 10,000 and then shows a file's path instead
CHARS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What a hook says; empty fields say nothing."""

    context: str = ""  # for the model, tagged
    to_person: str = ""  # shown to the person, not to the model
    keys: tuple[str, ...] = ()  # what was shown, so that a session is not shown it twice

    def as_json(self, event: str) -> str:
        """The output of the hook; empty where there is nothing to say."""
        output: dict[str, object] = {}
        if self.to_person:
            output["systemMessage"] = self.to_person
        if self.context:
            output["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": self.context}
        return json.dumps(output, ensure_ascii=False) if output else ""


NOTHING = HookAnswer()


def tag_lines(lines: Sequence[str], max_bytes: int) -> str:
    """As many of the lines as fit, inside the tag; empty where not even the first does."""
    shown = fitting(list(map(safe, lines)), measure_room(max_bytes))
    return "\n".join([OPENING, *shown, CLOSING]) if shown else ""


def measure_room(max_bytes: int) -> int:
    """The bytes that are left for lines inside the tag."""
    return min(max_bytes, HARD_STOP_CHARS) - len(OPENING) - len(CLOSING) - 2


def count_bytes(lines: Iterable[str]) -> int:
    """The bytes of some lines, with their line breaks."""
    return sum(len(line.encode()) + 1 for line in lines)


def fitting(lines: Sequence[str], room: int) -> list[str]:
    """The first lines that fit into so many bytes, with their line breaks."""
    first = []
    for line in lines:
        room -= count_bytes([line])
        if room < 0:
            break
        first.append(line)
    return first


def safe(text: str) -> str:
    """A text that neither closes the tag nor opens another, with nothing hidden in it."""
    return escape_text(text).replace(f"<{TAG}", f"<\\{TAG}").replace(f"</{TAG}", f"<\\/{TAG}")


def token_count(text: str) -> int:
    """How many tokens a text costs, by the usual estimate."""
    return -(-len(text) // CHARS_A_TOKEN)
