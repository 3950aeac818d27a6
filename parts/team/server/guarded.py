"""The one way from a route or a tool to the memory: right, quotas, then what was asked, and its figure.

All of them come here and nowhere else, so that none can forget one of the four.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from memory_server.errors import OneirosError
from memory_server.layers.topics import TopicHead
from memory_server.search.question import Question
from parts.team.access.asker import Asker, Right
from parts.team.access.quotas import Quotas
from parts.team.memory import TeamAnswer, TeamMemory, TeamReading, TeamStatus
from parts.team.server.metrics import Metrics

Found = TypeVar("Found")


class GuardedMemory:
    """What an asker may ask. Every method raises Forbidden, QuotaExceeded, and what the door raises."""

    def __init__(self, memory: TeamMemory, quotas: Quotas, metrics: Metrics):
        self._memory = memory
        self._quotas = quotas
        self._metrics = metrics

    def search(self, asker: Asker, question: Question) -> TeamAnswer:
        """The answer to a question."""
        return self.ask(question.search.value, asker, lambda: self._memory.search(asker.tenant, question))

    def read(self, asker: Asker, path: str, first: int, last: int | None) -> TeamReading:
        """Lines of a source."""
        return self.ask("read", asker, lambda: self._memory.read(asker.tenant, path, first, last))

    def topics(self, asker: Asker) -> Sequence[TopicHead]:
        """The topics of the tenant."""
        return self.ask("topics", asker, lambda: self._memory.topics(asker.tenant))

    def status(self, asker: Asker) -> TeamStatus:
        """What the tenant's memory holds, and which commit it stands at."""
        return self.ask("status", asker, lambda: self._memory.status(asker.tenant))

    def ask(
        self, kind: str, asker: Asker, found: Callable[[], Found], right: Right = Right.READ, *, grows: bool = False
    ) -> Found:
        """What `found` finds, for an asker with that right. `grows`: the memory must have room for more."""
        outcome = "unforeseen"
        try:
            asker.require(right)
            self._quotas.count_question(asker)
            if grows:
                self._quotas.check_room(asker)
            answer = found()
            outcome = "answered"
            return answer
        except OneirosError as error:
            outcome = type(error).__name__
            raise
        finally:
            self._metrics.count_question(kind, outcome)
