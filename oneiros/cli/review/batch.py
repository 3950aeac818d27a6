"""The review in an editor: all open hunks as one Markdown file.

What stands there when the editor ends is taken up; a hunk whose block was deleted is rejected; a changed statement is
reworded; the mark `later` before an id leaves it open. Quotes and the rest are set behind `>` and not read back.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dream.proposals.rendering import said_lines
from dream.records import Hunk
from memory_server.escaping import shown, shown_line

BLOCK = re.compile(r"^## (?:(?P<later>later) )?(?P<id>[0-9a-f]{12})\b.*$", re.MULTILINE)
GUARDED = re.compile(r"^(?=\\*[>#])", re.MULTILINE)  # lines of a statement that would pass for ours
INTRODUCTION = """\
> What stays here is taken up. Delete a block, from its heading on, to reject it; change the statement below the quotes
> to reword it; write `later` before the id to leave it open. Delete everything to decide nothing.
"""


@dataclass(frozen=True, slots=True)
class BatchChoice:
    """What the file says about one hunk. `text` is a new wording; None where it was left as it is."""

    hunk: Hunk
    verdict: Literal["accept", "reject", "later"]
    text: str | None = None


def batch_text(hunks: Sequence[Hunk]) -> str:
    """The file that the editor is given."""
    return "\n".join([INTRODUCTION, *("\n".join(_block(hunk)) for hunk in hunks)])


def read_batch(text: str, hunks: Sequence[Hunk]) -> list[BatchChoice]:
    """The decisions in an edited file; none where every block was deleted."""
    found = list(BLOCK.finditer(text))
    if not found:
        return []
    ends = [*(match.start() for match in found[1:]), len(text)]
    bodies = {
        match["id"]: (bool(match["later"]), text[match.end() : end]) for match, end in zip(found, ends, strict=True)
    }
    return [_choice(hunk, *bodies[hunk.id]) if hunk.id in bodies else BatchChoice(hunk, "reject") for hunk in hunks]


def _choice(hunk: Hunk, is_later: bool, body: str) -> BatchChoice:
    said = "\n".join(line for line in body.split("\n") if not line.startswith(">")).strip()
    if is_later or not said:
        return BatchChoice(hunk, "later")
    is_as_it_was = said == _guarded(shown(hunk.text)).strip()
    return BatchChoice(
        hunk, "accept", None if is_as_it_was else re.sub(r"^\\(?=\\*[>#])", "", said, flags=re.MULTILINE)
    )


def _block(hunk: Hunk) -> Iterator[str]:
    candidate = hunk.update.candidate
    yield f"## {hunk.id} {shown_line(hunk.target)}: {candidate.kind}, {hunk.update.relation}"
    yield ""
    yield from (f"> {line}" for line in said_lines(hunk))
    if hunk.update.place.old_text:
        yield "> replaces:"
        yield from (f">     {line}" for line in shown(hunk.update.place.old_text.rstrip()).split("\n"))
    yield ""
    yield _guarded(shown(hunk.text))
    yield ""


def _guarded(text: str) -> str:
    return GUARDED.sub(r"\\", text)
