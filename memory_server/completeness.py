"""What was skipped, and the one sentence that says so to whoever would conclude something from its absence.

Whoever passes something over counts it where that happens; an answer, a status and a report say it in the same words.
What is wrong with each file, line by line, is a `Problem`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory_server.errors import Problem

LEVEL = "level with the disk"  # indices in which nothing is missing
UNITS = {"reading": "files", "reading turns": "sessions"}  # counted at a stage of a run; passages at others


class SkipKind(StrEnum):
    """Why something is not there."""

    UNREADABLE = "unreadable"  # a file of the memory
    SYMLINK = "symlink"
    FILE_IGNORED = "file-ignored"
    FRONTMATTER = "frontmatter"  # read key by key, so that a key may be missing
    CHANGE = "change"  # of the disk, that is not indexed yet
    PASSAGE = "passage"  # that is not found by meaning yet
    SESSION = "session"  # of the archive, whose turns are not indexed yet
    WAITING = "waiting"  # a transcript that is not archived yet
    TRANSCRIPT = "transcript"  # a file or folder of them that cannot be read
    ARCHIVED = "archived"  # a session whose record in the archive is damaged
    LINE = "line"  # of a transcript
    PLACE = "place"  # of transcripts, which the settings name
    CLIENT = "client"  # a folder that CLAUDE_CONFIG_DIR names and that is not read
    ELSEWHERE = "elsewhere"  # all of that, where it cannot be found out


WORDS = {  # in the order in which it is told: one, several, what is the matter, and the command that names each
    SkipKind.UNREADABLE: ("file", "files", "cannot be read", "validate"),
    SkipKind.SYMLINK: ("link", "links", "not followed", "validate"),
    SkipKind.FILE_IGNORED: ("other file", "other files", "left out", "validate"),
    SkipKind.FRONTMATTER: ("broken frontmatter", "broken frontmatters", "read key by key", "validate"),
    SkipKind.CHANGE: ("changed file", "changed files", "not indexed yet", "reindex"),
    SkipKind.PASSAGE: ("passage", "passages", "not found by meaning yet", "reindex"),
    SkipKind.SESSION: ("session", "sessions", "not indexed turn by turn yet", "reindex"),
    SkipKind.WAITING: ("transcript", "transcripts", "not archived yet", "ingest"),
    SkipKind.TRANSCRIPT: ("transcript or folder", "transcripts or folders of them", "cannot be read", "ingest"),
    SkipKind.ARCHIVED: ("archived session", "archived sessions", "cannot be read", "archive verify"),
    SkipKind.LINE: ("line of a transcript", "lines of transcripts", "cannot be read", "doctor"),
    SkipKind.PLACE: ("folder in crawl_roots", "folders in crawl_roots", "not there", "config crawl_roots"),
    SkipKind.CLIENT: ("CLAUDE_CONFIG_DIR", "", "names no folder, or one in a repository", "config crawl_roots"),
    SkipKind.ELSEWHERE: ("look at this machine's transcripts", "", "failed", "doctor"),
}
UNINDEXED = frozenset({SkipKind.CHANGE, SkipKind.PASSAGE, SkipKind.SESSION})
OF_MEMORY = UNINDEXED | {SkipKind.UNREADABLE, SkipKind.SYMLINK, SkipKind.FILE_IGNORED, SkipKind.FRONTMATTER}


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was passed over."""

    kind: SkipKind
    where: str
    count: int = 1

    @property
    def remedy(self) -> str:
        """The command behind `oneiros` that names it, or brings it in."""
        return WORDS[self.kind][-1]


def select_skipped(problems: Iterable[Problem]) -> list[Skipped]:
    """Those of some problems that keep something from being found."""
    kinds = set(SkipKind)
    return [Skipped(SkipKind(one.rule), one.path) for one in problems if one.rule in kinds]


def count_skipped(found: Iterable[Skipped]) -> str:
    """`2 files cannot be read, 1 link not followed`; empty where nothing was skipped."""
    counts: Counter[SkipKind] = Counter()
    for one in found:
        counts[one.kind] += one.count
    rows = ((counts[kind], *words) for kind, words in WORDS.items() if counts[kind])
    return ", ".join(f"{count:,} {one if count == 1 else several} {what}" for count, one, several, what, _ in rows)


def tell_skipped(found: Sequence[Skipped], owner: str = "") -> str:
    """The same with the commands that name each: `2 files cannot be read: oneiros validate.`

    `owner`: the process that writes the indices, if any: what is not indexed yet needs no command then.
    """
    commands = dict.fromkeys(words[-1] for words in WORDS.values())
    steps = {command: f"`oneiros {command}`" for command in commands}
    steps |= {WORDS[kind][-1]: f"{owner} is at it" for kind in UNINDEXED if owner}
    parts = ((count_skipped(one for one in found if one.remedy == command), step) for command, step in steps.items())
    return " ".join(f"{counted}: {step}." for counted, step in parts if counted)


def tell_lacks(found: Sequence[Skipped], paths: Collection[str]) -> str:
    """What hits of these paths lack: a frontmatter that was read key by key is told with a hit of its file, or where
    there is no hit.
    """
    is_shown = {one: one.kind is not SkipKind.FRONTMATTER or not paths or one.where in paths for one in found}
    return tell_skipped([one for one in found if is_shown[one]])


def tell_stage(stage: str, done: int, total: int) -> str:
    """What whoever writes the indices is doing, and how far it is: `embedding 3 of 40 passages`."""
    return f"{stage} {done} of {total} {UNITS.get(stage, 'passages')}" if total else stage


def how_level(files: int, passages: int, owner: str, sessions: int = 0) -> str:
    """How far indices are from the disk, and who is at it or what to do.

    `files` are still to be read or removed, `sessions` to be indexed turn by turn, `passages` to be found by meaning;
    `owner` writes them, empty for nobody.
    """
    counts = ((files, "file"), (sessions, "session"), (passages, "passage"))
    left = [f"{count} {name}{'s' * (count > 1)}" for count, name in counts if count]
    if not left:
        return LEVEL
    return f"{' and '.join(left)} behind; {f'{owner} is at it' if owner else 'bring them level: oneiros reindex'}"
