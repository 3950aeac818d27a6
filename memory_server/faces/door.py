"""What a face asks: a memory, or what answers for it where the account's memory stands beside a project's."""

from typing import Protocol

from memory_server.document import Answer
from memory_server.reading import SourceText
from memory_server.search.question import Question


class Door(Protocol):
    """Searches and reads, as `Memory` does by itself."""

    def search(self, question: Question) -> Answer: ...

    def read(
        self, name: str, first: int | None = None, last: int | None = None, *, with_tools: bool = False
    ) -> SourceText: ...

    def read_session(self, name: str, depth: str, first: int = 1) -> str: ...
