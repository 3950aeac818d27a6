"""The messages of our commits: what was decided, and on which evidence.

A root of its own may quote the statement. Inside a project's repository, which is pushed, a message carries ids and
dates alone. The last line is how a commit is known again.
"""

from collections.abc import Sequence

from dream.proposals.hunk import Hunk
from dream.proposals.placing import provenance_of
from dream.proposals.store import Approval
from memory_server.escaping import shown_line

SUBJECT_CHARS = 64


def accepting(hunk: Hunk, approval: Approval, is_own: bool) -> str:
    """The message for an accepted hunk."""
    candidate = hunk.update.candidate
    lines = [f"Take up {candidate.kind} {hunk.id} in {hunk.target}", ""]
    if is_own:
        lines += [_shortened(shown_line(hunk.text)), ""]
    lines += [f"{hunk.update.relation}, suggested by {shown_line(candidate.extractor)}.", *_evidence(hunk)]
    return _message(lines, approval)


def reverting(hunk: Hunk, approval: Approval) -> str:
    """The message for a hunk that was taken out again."""
    return _message([f"Take {hunk.id} out of {hunk.target} again", "", *_evidence(hunk)], approval)


def adopting(paths: Sequence[str], approval: Approval) -> str:
    """The message for changes made elsewhere that a person answers for."""
    subject = f"Adopt the change of {paths[0]}" if len(paths) == 1 else f"Adopt the changes of {len(paths)} files"
    return _message([subject, "", *paths], approval)


def _evidence(hunk: Hunk) -> list[str]:
    return [f"Evidence: {provenance_of(hunk)}."]


def _message(lines: Sequence[str], approval: Approval) -> str:
    return "\n".join([*lines, "", f"Oneiros-approval: {approval.nonce}", ""])


def _shortened(text: str) -> str:
    return text if len(text) <= 4 * SUBJECT_CHARS else f"{text[: 4 * SUBJECT_CHARS - 1]}…"
