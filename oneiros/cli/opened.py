"""What a command answers itself where no daemon runs: from the memory, opened in this process."""

from typing import Any

from memory_server.document import Answer
from memory_server.faces.memory_text import reading_json, topics_json
from memory_server.layers.topics import topic_heads
from memory_server.memory import Memory
from memory_server.search.question import Question
from memory_server.upkeep import how_level
from oneiros.cli.terminal.output import progress_shown, talk
from oneiros.daemon.standing import standing
from oneiros.environment import Environment
from oneiros.ingest.typed_lines import recorder_on
from oneiros.opening import open_memory


def answer_here(environment: Environment, question: Question) -> Answer:
    """The answer to a question."""
    with open_memory(environment) as memory:
        bring_level(memory)
        if question.types:
            recorder_on(memory).bring_level()
        return memory.with_use(memory.search(question))


def bring_level(memory: Memory) -> None:
    """Indexes a small change before a search, and says who does a large one, or what it needs."""
    with progress_shown() as show:
        behind = memory.upkeep.refresh(show)
    if not behind.is_empty:
        files = len(behind.changed) + len(behind.removed)
        talk(f"The indices are {how_level(files, behind.unfinished, memory.owner())}.")


def lines_here(environment: Environment, name: str, first: int, last: int | None) -> dict[str, Any]:
    """Lines of a source."""
    with open_memory(environment) as memory:
        return reading_json(memory.read(name, first, last))


def topics_here(environment: Environment) -> dict[str, Any]:
    """The list of topics."""
    with open_memory(environment) as memory:
        return topics_json(topic_heads(memory.root))


def standing_here(environment: Environment) -> dict[str, Any]:
    """How the memory stands."""
    with open_memory(environment) as memory:
        return standing(environment, memory)
