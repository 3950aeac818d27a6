"""What a command answers itself where no daemon runs: from the memory, opened and brought level."""

from typing import Any

from memory_server.document import Answer
from memory_server.memory import Memory
from memory_server.search.question import Question
from oneiros.cli.output import progress_shown, say_behind, talk
from oneiros.environment import Environment
from oneiros.recording import recorder_on
from oneiros.standing import standing


def answer_here(environment: Environment, question: Question) -> Answer:
    """The answer of the memory that is meant."""
    with environment.open_memory() as memory:
        bring_level(memory)
        if question.types:
            recorder_on(memory).bring_level()
        return memory.search(question)


def bring_level(memory: Memory) -> None:
    """Indexes a small change before a search, and says what a large one needs."""
    with progress_shown() as show:
        behind = memory.refresh(show)
    count = len(behind.changed) + len(behind.removed)
    if not behind.is_empty and not count:
        talk("The indices are not complete yet. Bring them level: oneiros reindex")
    say_behind(count)


def standing_here(environment: Environment) -> dict[str, Any]:
    """How the memory that is meant stands."""
    with environment.open_memory() as memory:
        return standing(environment, memory)
