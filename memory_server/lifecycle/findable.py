"""The loss alarm: how much can be found is noted once a day, and a drop that no command explains is said for a week.

An index run that came to its end counts. A command that takes something away leaves its own trace (marks of `gc`, the
chain of decisions, the archive's lists of what was forgotten and pruned): where any of these has changed, a drop is
what somebody wanted. So is a topic that a commit took away.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from memory_server.machine.files import file_stamp, read_json, replace_file
from memory_server.root.git import ask_git, is_in_repository
from memory_server.root.paths import MemoryRoot

SHARE = 0.02  # of what was found the day before
SHOWN_DAYS = 7
TOPICS = "topics"
OF_TOPICS = (TOPICS, "passages of topics")


class Loss(msgspec.Struct, frozen=True):
    """Something that is found no more."""

    day: dt.date
    what: str  # topics, passages of topics, archived sessions, ...
    before: int
    now: int

    def __str__(self) -> str:
        gone = f"{self.before - self.now} of {self.before} {self.what}"
        return f"{gone} are found no more since {self.day.isoformat()}, and no command took them away"


class Findable(msgspec.Struct, frozen=True):
    """The note of one day."""

    day: dt.date
    counts: dict[str, int]
    traces: list[tuple[int, int]]  # of the commands: time and size of each file
    made_by: str  # model and form of the indices; others count otherwise
    losses: tuple[Loss, ...] = ()


def note_findable(root: MemoryRoot, counts: Mapping[str, int], made_by: str, today: dt.date) -> None:
    """Compares with what was noted, and notes what is to be said."""
    known, traces = read_findable(root), list(map(file_stamp, _commands(root)))
    losses = [one for one in known.losses if counts.get(one.what, 0) < one.before * (1 - SHARE)] if known else []
    losses = _drop_committed(root, losses)
    if known and (known.traces, known.made_by) == (traces, made_by):
        lost = {one.what for one in losses}
        new = [
            Loss(today, what, before, counts.get(what, 0))
            for what, before in known.counts.items()
            if what not in lost and counts.get(what, 0) < before * (1 - SHARE)
        ]
        losses += _drop_committed(root, new, since=known.day)
        note = known if known.day == today else Findable(today, dict(counts), traces, made_by)
    else:
        note = Findable(today, dict(counts), traces, made_by)
    losses = [one for one in losses if (today - one.day).days < SHOWN_DAYS]
    noted = msgspec.structs.replace(note, losses=tuple(losses))
    if noted != known:
        replace_file(root.findable, msgspec.json.encode(noted))


def read_findable(root: MemoryRoot) -> Findable | None:
    """What was noted last; None where nothing was, or where it cannot be read."""
    return read_json(root.findable, Findable, None)


def read_losses(root: MemoryRoot) -> tuple[Loss, ...]:
    """What is to be said."""
    known = read_findable(root)
    return tuple(_drop_committed(root, known.losses)) if known else ()


def _drop_committed(root: MemoryRoot, losses: Sequence[Loss], since: dt.date | None = None) -> list[Loss]:
    """Losses without those of topics that commits of this day, or of that of the loss, and later ones took away."""
    left = []
    for loss in losses:
        taken = _list_committed(root, since or loss.day) if loss.what in OF_TOPICS else set()
        if not taken or (loss.what == TOPICS and len(taken) < loss.before - loss.now):
            left.append(loss)
    return left


def _list_committed(root: MemoryRoot, since: dt.date) -> set[str]:
    """The topics that commits have taken away since a day and that are not there."""
    if not is_in_repository(root.path):
        return set()
    words = ("--diff-filter=D", "--name-only", "--relative", "--format=", "--", "topics")
    paths = (ask_git(root.path, "log", f"--since={since.isoformat()}T00:00:00", *words) or "").splitlines()
    return {path for path in paths if path.endswith(".md") and not (root.path / path).exists()}


def _commands(root: MemoryRoot) -> list[Path]:
    archive = root.path / "sessions" / "archive"
    return [root.marks, root.decisions, archive / "forgotten.jsonl", archive / "pruned.jsonl"]
