"""Which state of the approved files a person has answered for, and which changes nobody has.

With a key a state is explained by the last signed decision about the file alone. Without one it is explained by the
last decision that this machine knows of, or by the last commit, unless that says itself that the assistant made it. A
change of layer 1 by any other way cannot be prevented, so it is named: at the start of a session, in the report, and
before the next acceptance. The model is told no name of it: what nobody answered for is kept from it, names too.
"""

import datetime as dt
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dream.changes import APPROVED, Event, FileChange, Splice, check_path, hash_text
from dream.decisions.chain import Chain, FileHashes
from dream.decisions.repository import Repository, find_repository, refusal_of_git
from memory_server.chunking import split_lines
from memory_server.document import Layer, SourcePath
from memory_server.errors import ContentError, OneirosError
from memory_server.escaping import escape_line
from memory_server.layers.mif import Value, parse_frontmatter
from memory_server.layers.topics import (
    LEFT_OUT,
    ONTOLOGY,
    TopicHead,
    find_sources,
    is_topic,
    read_text,
    select_approved,
    shorten_text,
    topic_heads,
)
from memory_server.lifecycle.use import UseLog
from memory_server.machine.clock import local_day
from memory_server.machine.files import change_stamp, is_plain_file
from memory_server.root.paths import MemoryRoot
from memory_server.settings import read_memory_settings

NEW = "new"  # what became of a file that was never approved
UNSIGNED = "decided without a signature"
RETITLED = "with another title or summary"
MOST_FOR_PERSON = 3
SHOWN_CHARS = 120  # of a name: a client shows nothing of an answer that is too long
REVIEWED = "`oneiros review` shows them, and asks whether they are yours"
WARNING = (
    "Some files of this memory stand as nobody approved them. They are left out here, and what is marked unapproved"
    " decides nothing; `oneiros review` lets the person look and decide."
)
Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A file of layer 1 in a state that no acceptance and no commit of a person explains."""

    path: str
    what: str  # changed, new, removed, committed by the assistant, decided without a signature, retitled
    approved: str = ""  # of a retitled one, the text that was approved, in as many lines: it is what Claude is told

    def __str__(self) -> str:
        return f"{escape_line(self.path)} ({self.what})"

    @property
    def in_words(self) -> str:
        phrases = {
            NEW: "new, and not approved yet",
            UNSIGNED: UNSIGNED,
            RETITLED: f"{RETITLED}: Claude is told the old",
        }
        return phrases.get(self.what, f"{self.what} by no acceptance and by no commit of yours")

    @property
    def step(self) -> str:
        """What the person can do about it."""
        if self.what in (NEW, RETITLED):
            return f"if you wrote it: oneiros dream adopt {shlex.quote(self.path)}"
        return f"look at it: git diff -- {shlex.quote(self.path)}; then oneiros review"


class Approvals:
    """The approvals of one memory root as they stand now."""

    def __init__(self, root: MemoryRoot, chain: Chain):
        self._root = root
        self.chain = chain
        self.is_new = not chain.is_kept and not chain.has_key
        self._places: dict[str, list[tuple[int, FileHashes]]] = {}
        for place, entry in enumerate(chain.entries):
            for change in filter(_is_of_layer_1, entry.files):
                self._places.setdefault(change.path, []).append((place, change))
        self.by_commit: dict[str, str] = {}  # path -> sha256 of what a commit alone explains, once asked for all

    @cached_property
    def _repository(self) -> Repository | None:
        """Asked for where the chain does not explain a file: mostly it explains all, and no git is started."""
        return find_repository(self._root.path)

    @cached_property
    def _last(self) -> dict[str, FileHashes]:
        """The last decision that counts about each file."""
        found = {}
        for path, changes in self._places.items():
            counted = next((change for place, change in reversed(changes) if self.chain.counts(place)), None)
            if counted:
                found[path] = counted
        return found

    def present(self) -> list[FileChange]:
        """The approved files as they stand, but for those that differ from the last commit."""
        texts = ((path, read_file(self._root, path)) for path in list_approved_files(self._root))
        return [
            make_change(path, text, text)
            for path, text in texts
            if text is not None and not self._differs_from_head(path, text)
        ]

    def _differs_from_head(self, path: str, text: str) -> bool:
        repository = self._repository
        return repository is not None and repository.has(path) and not repository.holds(path, text.encode())

    @property
    def last_day(self) -> dt.date | None:
        """The day of the last decision that changed a file of layer 1; None where there is none."""
        days = (local_day(entry.at) for entry in reversed(self.chain.entries) if any(map(_is_of_layer_1, entry.files)))
        return next(days, None)

    def find_unexplained(self) -> list[Unexplained]:
        """The changes that nobody has answered for, by path."""
        if self.is_new:
            return []
        present = set(list_approved_files(self._root))
        expected = {path for path, change in self._last.items() if change.after}
        if self._repository is not None and not self.chain.has_key:
            expected |= {
                path for path in self._repository.list_committed("topics") if not (self._root.path / path).exists()
            }
        return self.filter_unexplained(present | expected)

    def hash_file(self, path: str) -> str:
        """The hash of what a file holds; empty where there is none."""
        return hash_text(read_file(self._root, path))

    def filter_unexplained(self, paths: Collection[str]) -> list[Unexplained]:
        """The same of some files, by path."""
        if self.is_new:
            return []
        unapproved = [path for path in sorted(paths) if not self._is_approved(path, read_file(self._root, path))]
        committed = self._find_committed(unapproved)
        self.by_commit |= {path: hash_text(read_file(self._root, path)) for path in committed}
        texts = {path: read_file(self._root, path) for path in unapproved if path not in committed}
        return [
            Unexplained(path, what, self._find_approved_text(path, text) if what == RETITLED else "")
            for path, text in texts.items()
            if (what := self.doubt_about(path, text))
        ]

    def find_uncommitted(self) -> list[str]:
        """The files that stand as a decision left them, and that the last commit does not hold so.

        The index page, whose pointers change without a decision, is none of them, nor what was there beforehand.
        """
        made = (entry for entry in self.chain.entries if entry.event is not Event.FOUND)
        decided = {change.path for entry in made for change in entry.files} - {self._root.index_page.name}
        paths = [path for path in list_approved_files(self._root) if path in decided]
        paths = [path for path in paths if self._is_approved(path, read_file(self._root, path))]
        if self._repository is None or not paths:
            return []
        held = self._repository.clean(paths)
        return [path for path in paths if path not in held and not self._repository.ignores(path)]

    def _find_committed(self, paths: list[str]) -> frozenset[str]:
        """Those that a commit explains for certain; asked for all at once, since a session's start waits for it."""
        repository = self._repository
        if repository is None or not paths or self.chain.has_key or repository.has_commits_of_assistant():
            return frozenset()
        return repository.clean(paths)

    def doubt_about(self, path: str, text: str | None) -> str:
        """Why a state of a file is not explained; empty where it is."""
        if self.is_new:
            return ""
        last, repository = self._last.get(path), self._repository
        if self._is_approved(path, text):
            return ""
        if text is None:
            is_committed = last is not None and bool(last.after) and self._is_left_out_by_commit(path)
        else:
            is_committed = repository is not None and self._is_committed(repository, path, text)
        if repository is not None and is_committed and repository.is_assistants(path):
            return "committed by the assistant"
        if is_committed and not self.chain.has_key:
            self.by_commit[path] = hash_text(text)
            return ""
        if self.chain.has_key and self._was_decided(path, text):
            return UNSIGNED
        if text is None:
            was_committed = repository is not None and repository.has(path)
            return "removed" if was_committed or (last is not None and last.after) else ""
        if last is None and not (repository is not None and repository.has(path)):
            return NEW
        return RETITLED if self._find_approved_text(path, text) else "changed"

    def _find_approved_text(self, path: str, text: str | None) -> str:
        """What was approved of a topic whose title and summary alone differ from it, in as many lines; else nothing."""
        repository = self._repository
        committed = repository.text(path) if repository is not None and is_topic(SourcePath(path)) else None
        if repository is None or not committed or text is None or without_title(committed) != without_title(text):
            return ""
        by_person = self._is_approved(path, committed) or not (self.chain.has_key or repository.is_assistants(path))
        return pad_to_lines(text, committed) if by_person else ""

    def _is_committed(self, repository: Repository, path: str, text: str) -> bool:
        """Whether the last commit holds this state of a file; of the index page, its lines that are not generated."""
        if repository.holds(path, text.encode("utf-8")):
            return True
        page = repository.text(path) if path == "MEMORY.md" else None
        return page is not None and without_pointers(page) == without_pointers(text) and self._points_truly(path, text)

    def _points_truly(self, path: str, text: str | None, last: FileHashes | None = None) -> bool:
        """Whether the generated lines of the index page are those approved, as we wrote them, or what its topics give.

        Topics may have changed since the page was written, which is said of them. How we wrote it is told by a file
        that anybody may write, so it counts for nothing with a key.
        """
        if path != "MEMORY.md" or text is None or (last is not None and hash_text(text) == last.after):
            return True
        from memory_server.layers.index_page import is_as_written, with_pointers

        if not self.chain.has_key and is_as_written(self._root, text):
            return True
        try:
            heads, settings = self.filter_approved(topic_heads(self._root)), read_memory_settings(self._root.settings)
            return with_pointers(text, heads, settings, self.count_uses(self.last_day)) == text
        except ContentError:
            return False

    def filter_approved(self, heads: Sequence[TopicHead]) -> list[TopicHead]:
        """Those of these topics that somebody has answered for as they stand."""
        return select_approved(heads, lambda paths: build_replacements(self.filter_unexplained(paths)))

    def count_uses(self, day: dt.date | None) -> Mapping[SourcePath, int]:
        """How often topics were opened before a day; see `Memory.settled_uses`."""
        if day is None:
            return {}
        with closing(UseLog(self._root.state_database, lambda: day)) as log:
            return log.count_opened(day)

    def _is_approved(self, path: str, text: str | None) -> bool:
        """Whether the last approval of a file is of this state."""
        last = self._last.get(path)
        if last is None or hash_approved(path, text) != last.approved:
            return False
        return self._points_truly(path, text, last)

    def _was_decided(self, path: str, text: str | None) -> bool:
        """Whether the last entry about a file is of this state, whether it counts or not."""
        return any(change.approved == hash_approved(path, text) for _, change in self._places.get(path, [])[-1:])

    def _is_left_out_by_commit(self, path: str) -> bool:
        """Whether a file that a commit once held is not in the last one."""
        repository = self._repository
        return repository is not None and repository.has_touched(path) and not repository.has(path)


def build_replacements(found: Sequence[Unexplained]) -> dict[SourcePath, str]:
    """What is told in the place of files that nobody has answered for as they stand; see `Unapproved`."""
    return {SourcePath(one.path): one.approved or LEFT_OUT for one in found}


def _is_of_layer_1(change: FileHashes) -> bool:
    return APPROVED.fullmatch(change.path) is not None


def list_approved_files(root: MemoryRoot) -> Iterator[str]:
    """The files of layer 1, and the ontology, which steers what is put before a model."""
    if is_plain_file(root.ontology):
        yield ONTOLOGY
    for source in find_sources(root):
        if source.layer is Layer.TOPIC:
            yield source.path


def hash_approved(path: str, text: str | None) -> str:
    """What an approval of a file is about: its text, of the index page without the lines that are generated."""
    return hash_text(without_pointers(text) if path == "MEMORY.md" and text is not None else text)


def without_title(text: str) -> tuple[Mapping[str, Value], str]:
    """The fields and the body of a topic, without its title and its summary, which are fields and its first heading."""
    parsed = parse_frontmatter(text)
    lines = split_lines(parsed.body)
    fields = {key: value for key, value in parsed.fields.items() if key not in ("title", "summary")}
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    is_title = bool(lines) and lines[first].startswith("# ")
    return fields, "".join([*lines[:first], *lines[first + is_title :]])


def pad_to_lines(text: str, approved: str) -> str:
    """An approved text whose head has as many lines as that of a text which ends as it does, so that places in the one
    are places in the other.
    """
    lines, then = split_lines(text), split_lines(approved)
    ends = zip(reversed(lines), reversed(then), strict=False)
    same = next((count for count, (one, other) in enumerate(ends) if one != other), min(len(lines), len(then)))
    room = len(lines) - same
    head = [*then[: len(then) - same], *["\n"] * room]
    return "".join([*head[:room], *lines[room:]])


def without_pointers(text: str) -> str:
    """The index page without its generated lines and their markers."""
    from memory_server.layers.index_page import find_markers

    try:
        markers = find_markers(text)
    except ContentError:
        return text
    if markers is None:
        return text.rstrip()
    lines = split_lines(text)
    return "".join([*lines[: markers.begin], *lines[markers.end + 1 :]]).rstrip()


def make_change(path: str, old: str | None, new: str | None, splices: Sequence[Splice] = ()) -> FileChange:
    """A file of an approval: from which text to which; the same twice where it is approved as it stands."""
    return FileChange(path, hash_text(old), hash_text(new), hash_approved(path, new), tuple(splices))


def read_file(root: MemoryRoot, path: str) -> str | None:
    """The text of a file of layer 1; None where there is none that can be read."""
    try:
        return read_text(check_path(root, path))
    except ContentError:
        return None


def read_approvals(root: MemoryRoot, public_key: str) -> Approvals:
    """The approvals of a memory as its files tell them; nothing is written."""
    return Approvals(root, Chain(root, public_key))


class UnapprovedFiles:
    """Tells of files of layer 1 which are in a state that nobody has answered for. Safe to share between threads.

    It is asked with every answer: what was found once holds until the file, the approvals or the repository changes.
    """

    def __init__(self, root: MemoryRoot, public_key: str):
        self._root = root
        self._key = public_key
        self._known: dict[SourcePath, tuple[tuple[Stamp, ...], str | None]] = {}
        self._dated: tuple[Stamp, dt.date | None] = ((0, 0), None)

    def __call__(self, paths: Collection[SourcePath]) -> dict[SourcePath, str]:
        """Those of these files that nobody has answered for; none where that cannot be told. See `Unapproved`."""
        shared = tuple(map(change_stamp, (self._root.decisions, self._root.decisions_head, self._git_folder)))
        stamps = {path: (change_stamp(self._root.file(path)), *shared) for path in paths}
        unknown = [path for path in paths if self._known.get(path, ((), None))[0] != stamps[path]]
        try:
            if unknown:
                found = build_replacements(read_approvals(self._root, self._key).filter_unexplained(unknown))
                self._known |= {path: (stamps[path], found.get(path)) for path in unknown}
        except (OneirosError, OSError):
            # an answer is not kept back for it, but nothing steers it; `oneiros doctor` says what is wrong
            return dict.fromkeys({ONTOLOGY}.intersection(paths), LEFT_OUT)
        return {path: approved for path in paths if (approved := self._known[path][1]) is not None}

    def find_approval_day(self) -> dt.date | None:
        """The day of the last decision that changed a file of layer 1; None where there is none, or none is known."""
        stamp = change_stamp(self._root.decisions)
        if stamp != self._dated[0]:
            try:
                self._dated = stamp, read_approvals(self._root, self._key).last_day
            except (OneirosError, OSError):
                return None
        return self._dated[1]

    @cached_property
    def _git_folder(self) -> Path:
        """What changes whenever something is committed: git makes and removes a lock in it."""
        own = self._root.path / ".git"
        repository = None if own.is_dir() else find_repository(self._root.path)
        return repository.git_folder if repository else own


# -- what is said of them -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Doubt:
    """What is said of some files, and what the person can do about them."""

    what: str
    step: str

    def __str__(self) -> str:
        return f"{self.what}. {self.step}."


def doubts_for_model(found: Sequence[Unexplained]) -> list[str]:
    """That something is left out; nothing where all is explained or told as it was approved."""
    return [WARNING] if suspicious(found) else []


def doubts_for_person(found: Sequence[Unexplained]) -> list[str]:
    """One line for all of them; none where there is none."""
    return list(map(str, doubts_in_words(found)))


def doubts_in_words(found: Sequence[Unexplained]) -> list[Doubt]:
    """What nobody answered for, said once, with what the person can do."""
    named = [str(one) for one in suspicious(found)]
    return [Doubt(f"Not approved as they stand: {format_names(named)}", REVIEWED)] if named else []


def suspicious(found: Sequence[Unexplained]) -> list[Unexplained]:
    """Those of which more differs than title and summary."""
    return [one for one in found if not one.approved]


def doubts_of_git(root: MemoryRoot, public_key: str) -> list[Doubt]:
    """That git refuses to tell what it holds, or which decided files the last commit lacks."""
    git = f"git -C {shlex.quote(str(root.path))}"
    if refused := refusal_of_git(root.path):
        return [Doubt(f"git does not tell what was committed: {escape_line(refused)}", f"{git} status")]
    left = read_approvals(root, public_key).find_uncommitted()
    names = " ".join(map(shlex.quote, left[:MOST_FOR_PERSON]))
    step = f"{git} add -- {names} && {git} commit --message 'What was decided' -- {names}"
    return [Doubt(f"Decided, and not committed: {format_names(left)}", step)] if left else []


def format_names(names: Sequence[str]) -> str:
    """The first few names, on one line."""
    shown = [shorten_text(escape_line(name), SHOWN_CHARS) for name in names[:MOST_FOR_PERSON]]
    more = f" and {len(names) - MOST_FOR_PERSON} more" if len(names) > MOST_FOR_PERSON else ""
    return ", ".join(shown) + more
