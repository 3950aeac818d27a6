"""The review in an editor: all open hunks as one Markdown file.

What stands there when the editor ends is taken up; a hunk whose block was deleted is rejected; a changed statement is
reworded; the mark `later` before an id leaves it open. Quotes and the rest are set behind `>` and not read back.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from dream.decisions.page import Chosen
from dream.proposals.rendering import evidence_lines, headline
from dream.records import Hunk
from memory_server.escaping import escape_line, escape_text
from oneiros.cli.review.editing import guard_text, unguard_text

BLOCK = re.compile(r"^## (?:(?P<later>later) )?(?P<id>[0-9a-f]{12})\b.*$", re.MULTILINE)
WRONG = "> WRONG: "
DELETED = "deleted in the editor"
INTRODUCTION = """\
> What stays here is taken up. Delete a block, from its heading on, to reject it; change the statement below the quotes
> to reword it; write `later` before the id to leave it open. Delete everything to decide nothing.
"""


def batch_text(hunks: Sequence[Hunk]) -> str:
    """The file that the editor is given."""
    return "\n".join([INTRODUCTION, *("\n".join(_block(hunk)) for hunk in hunks)])


def read_batch(text: str, hunks: Sequence[Hunk]) -> list[Chosen]:
    """The choices in an edited file; none where every block was deleted. `text` of one is a new wording."""
    found = list(BLOCK.finditer(text))
    if not found:
        return []
    ends = [*(match.start() for match in found[1:]), len(text)]
    bodies = {
        match["id"]: (bool(match["later"]), text[match.end() : end]) for match, end in zip(found, ends, strict=True)
    }
    return [
        _choice(hunk, *bodies[hunk.id]) if hunk.id in bodies else Chosen(hunk.id, "reject", reason=DELETED)
        for hunk in hunks
    ]


def with_faults(text: str, wrong: Mapping[str, str]) -> str:
    """An edited file with what is wrong with a wording below the heading of its block, by the id of its hunk."""
    plain = "\n".join(line for line in text.split("\n") if not line.startswith(WRONG))
    marked = BLOCK.sub(lambda head: f"{head[0]}\n{WRONG}{wrong[head['id']]}" if head["id"] in wrong else head[0], plain)
    return marked.removesuffix("\n")


def _choice(hunk: Hunk, is_later: bool, body: str) -> Chosen:
    wording = "\n".join(line for line in body.split("\n") if not line.startswith(">")).strip()
    if is_later or not wording:
        return Chosen(hunk.id, "later")
    is_as_it_was = wording == guard_text(escape_text(hunk.text)).strip()
    return Chosen(hunk.id, "accept", None if is_as_it_was else unguard_text(wording))


def _block(hunk: Hunk) -> Iterator[str]:
    yield f"## {hunk.id} {headline(hunk)}"
    yield ""
    yield from (f"> {line}" for line in evidence_lines(hunk))
    if hunk.update.place.old_text:
        yield "> in place of:"
        yield from (f">     {escape_line(line)}" for line in hunk.update.place.old_text.rstrip().split("\n"))
    if hunk.origin:
        yield f"> moved from {escape_line(hunk.origin.path)}"
    yield ""
    yield guard_text(escape_text(hunk.text))
    yield ""
