"""The questions that accepted statements answer, for the index: `StatementQuestions` of memory_server.

A reading says what a line of it answers; what a person accepted of it is kept with that in their approvals. A statement
is known by its words, so it keeps its questions wherever its topic goes.
"""

import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from dream.proposals.placing import words_of
from dream.proposals.store import Event, ProposalStore
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.root.paths import MemoryRoot


@dataclass(frozen=True, slots=True)
class QuestionsKnown:
    """What the approvals of one moment say."""

    by_words: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)  # by the path of a file that they wrote


class ApprovedQuestions:
    """Reads them anew whenever the approvals have changed. Safe to share between threads."""

    def __init__(self, root: MemoryRoot):
        self._root = root
        self._read: tuple[tuple[int, int], QuestionsKnown] | None = None

    def mark(self, path: SourcePath) -> str:
        """See `StatementQuestions`."""
        mark = self._known().marks.get(path)
        return f"?{mark:08x}" if mark else ""

    def of(self, path: SourcePath, statement: str) -> tuple[str, ...]:  # noqa: ARG002  a statement may have moved
        """See `StatementQuestions`."""
        known = self._known().by_words
        return known.get(tuple(words_of(statement)), ()) if known else ()

    def _known(self) -> QuestionsKnown:
        try:
            stat = self._root.approvals.stat()
        except OSError:
            return QuestionsKnown()
        stamp = stat.st_ctime_ns, stat.st_size
        if self._read is None or self._read[0] != stamp:
            self._read = stamp, known_in(self._root)
        return self._read[1]


def known_in(root: MemoryRoot) -> QuestionsKnown:
    """What the approvals of a memory say; nothing where they cannot be read, which `oneiros doctor` tells."""
    try:
        approvals = ProposalStore(root).approvals()
    except ContentError:
        return QuestionsKnown()
    by_words, marks = dict[tuple[str, ...], tuple[str, ...]](), defaultdict[str, int](int)
    for one in approvals:
        if one.questions and one.event is Event.ACCEPTED:
            by_words[tuple(words_of(one.text))] = one.questions
        if by_words:  # a statement may have come to whichever file was written since
            for change in one.files:
                marks[change.path] = zlib.crc32(one.name.encode(), marks[change.path])
    return QuestionsKnown(by_words, dict(marks))
