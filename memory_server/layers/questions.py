"""The questions that statements of topics answer, as an index asks for them: its hidden keys.

They come from readings and are kept with what a person accepted, which another package knows. Without that there are
none, and everything works.
"""

from typing import Protocol

from memory_server.document import SourcePath


class StatementQuestions(Protocol):
    """Tells which questions a statement of a topic answers."""

    def mark(self, path: SourcePath) -> str:
        """A few letters that differ whenever the questions of a file's statements may; empty where there are none."""

    def find_questions(self, path: SourcePath, statement: str) -> tuple[str, ...]:
        """The questions that a statement of a file answers, found by its words."""


class NoQuestions:
    """Where nothing is known of any statement."""

    def mark(self, path: SourcePath) -> str:  # noqa: ARG002  as the protocol asks
        return ""

    def find_questions(self, path: SourcePath, statement: str) -> tuple[str, ...]:  # noqa: ARG002  likewise
        return ()
