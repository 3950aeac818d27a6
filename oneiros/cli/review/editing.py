"""A person's own editor: for one text, and for a review of all open hunks as one Markdown file.

What they wrote of a text is never lost: it opens again, with what is wrong with it above, until it is right or they
leave it as it is. Of a review, what stands there when the editor ends is taken up; a hunk whose block was deleted is
rejected; a changed statement is reworded; the mark `later` before an id leaves it open. Quotes and the rest are set
behind `>` and not read back.
"""

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from dream.decisions.page import Chosen
from dream.proposals.rendering import evidence_lines, headline
from dream.records import Hunk
from memory_server.errors import OneirosError, UsageError
from memory_server.escaping import escape_line, escape_text
from memory_server.machine.files import replace_file

GUARDED = re.compile(r"^(?=\\*[>#])", re.MULTILINE)  # lines of a statement that would pass for ours
T = TypeVar("T")
BLOCK = re.compile(r"^## (?:(?P<later>later) )?(?P<id>[0-9a-f]{12})\b.*$", re.MULTILINE)
WRONG = "> WRONG: "
DELETED = "deleted in the editor"
INTRODUCTION = """\
> What stays here is taken up. Delete a block, from its heading on, to reject it; change the statement below the quotes
> to reword it; write `later` before the id to leave it open. Delete everything to decide nothing.
"""


def edit_text(text: str, variables: Mapping[str, str]) -> str:
    """The text after the person's editor has had it. Raises UsageError where the editor fails."""
    editor = shlex.split(variables.get("VISUAL") or variables.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="oneiros-") as folder:
        file = Path(folder, "review.md")
        replace_file(file, text + "\n")
        try:
            subprocess.run([*editor, str(file)], check=True, env=dict(os.environ))
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"the editor failed ({error})", remedy="Set EDITOR to one that works") from error
        return file.read_text(encoding="utf-8")


def reword_text(text: str, check: Callable[[str], T], variables: Mapping[str, str]) -> tuple[str, T] | None:
    """What the person made of a text, and what `check` makes of that; None where they leave nothing, or give up.

    Raises UsageError where the editor fails.
    """
    offered, wrong = guard_text(text).strip(), ""
    while True:
        above = f"> {wrong}\n\n" if wrong else ""
        written = "\n".join(
            line for line in edit_text(above + offered, variables).split("\n") if line[:1] != ">"
        ).strip()
        if not written or (wrong and written == offered):
            return None
        try:
            return unguard_text(written), check(unguard_text(written))
        except OneirosError as error:
            offered, wrong = written, " ".join(str(error).split())


def guard_text(text: str) -> str:
    """A text in whose lines nothing passes for ours."""
    return GUARDED.sub(r"\\", text)


def unguard_text(text: str) -> str:
    """A text as it was before `guard_text`."""
    return re.sub(r"^\\(?=\\*[>#])", "", text, flags=re.MULTILINE)


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
