"""The one way from a face to the memory: right, quota, then the door with the tenant of the token.

Both faces ask here and nowhere else, so that neither can forget one of the three.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from memory_server.chunking import split_lines
from memory_server.document import Layer, LineRange, SourcePath
from memory_server.errors import OneirosError
from memory_server.reading import Reading
from memory_server.search.question import Question
from team.access.quotas import Quotas
from team.access.scope import Right, Scope
from team.memory import TeamAnswer, TeamMemory, TeamReading, TeamStatus, TopicLine
from team.server.metrics import Metrics

Found = TypeVar("Found")


class Desk:
    """What a verified asker may ask."""

    def __init__(self, memory: TeamMemory, quotas: Quotas, metrics: Metrics):
        self._memory = memory
        self._quotas = quotas
        self._metrics = metrics

    def search(self, scope: Scope, question: Question) -> TeamAnswer:
        """Raises Forbidden, QuotaExceeded, and what the door raises; so do the others."""
        return self._asked(question.search.value, scope, lambda: self._memory.search(scope.tenant, question))

    def read(self, scope: Scope, path: str, first: int, last: int | None) -> TeamReading:
        """Lines of a source."""
        return self._asked("read", scope, lambda: self._memory.read(scope.tenant, path, first, last))

    def topics(self, scope: Scope) -> Sequence[TopicLine]:
        """The topics of the tenant."""
        return self._asked("topics", scope, lambda: self._memory.topics(scope.tenant))

    def status(self, scope: Scope) -> TeamStatus:
        """What the tenant's memory holds, and which commit it stands at."""
        return self._asked("status", scope, lambda: self._memory.status(scope.tenant))

    def _asked(self, kind: str, scope: Scope, found: Callable[[], Found]) -> Found:
        outcome = "error"
        try:
            scope.require(Right.READ)
            self._quotas.count_question(scope)
            answer = found()
            outcome = "answered"
            return answer
        except OneirosError as error:
            outcome = type(error).__name__
            raise
        finally:
            self._metrics.asked(kind, outcome)


def reading_of(found: TeamReading) -> Reading:
    """Lines that were read, as the faces of a personal memory show them."""
    lines = tuple(split_lines(found.text))
    return Reading(
        SourcePath(found.path),
        Layer(found.layer),
        found.title,
        None,
        LineRange(found.first, found.last),
        found.last_line,
        lines,
    )
