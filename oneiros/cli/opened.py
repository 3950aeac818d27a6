"""What a command answers itself where no daemon runs: from the memory, opened and brought level."""

from typing import Any

from memory_server.document import Answer
from memory_server.memory import Memory
from memory_server.search.question import Question
from memory_server.upkeep import how_level
from oneiros.cli.output import progress_shown, talk
from oneiros.environment import Environment
from oneiros.ingest.recording import recorder_on
from oneiros.standing import standing


def answer_here(environment: Environment, question: Question) -> Answer:
    """The answer of the memory that is meant."""
    with environment.open_memory() as memory:
        bring_level(memory)
        if question.types:
            recorder_on(memory).bring_level()
        return memory.search(question)


def bring_level(memory: Memory) -> None:
    """Indexes a small change before a search, and says who does a large one, or what it needs."""
    with progress_shown() as show:
        behind = memory.refresh(show)
    if not behind.is_empty:
        files = len(behind.changed) + len(behind.removed)
        talk(f"The indices are {how_level(files, behind.unfinished, memory.owner())}.")


def standing_here(environment: Environment) -> dict[str, Any]:
    """How the memory that is meant stands."""
    with environment.open_memory() as memory:
        return standing(environment, memory)
