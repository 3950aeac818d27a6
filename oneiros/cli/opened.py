"""What a command answers itself where no daemon runs: from the memory, opened in this process."""

from dataclasses import replace
from typing import Any

from memory_server.completeness import how_level
from memory_server.document import Answer
from memory_server.faces.memory_text import reading_json
from memory_server.memory import Memory
from memory_server.search.precedence import limit_to_project
from memory_server.search.question import Question
from oneiros.cli.terminal.output import show_progress
from oneiros.environment import Environment
from oneiros.hooks.whereabouts import locate_project
from oneiros.opening import open_memory
from oneiros.served import BesideMemory


def answer_locally(environment: Environment, question: Question, *, both: bool, folder: str) -> Answer:
    """The answer to a question. `both`: with the account's memory beside a project's. `folder`: in whose project."""
    with open_memory(environment) as memory:
        behind = bring_level(memory)
        if question.types:
            from oneiros.ingest.typed_lines import build_recorder  # noqa: PLC0415  what reads sessions, for few questions

            build_recorder(memory).bring_level()
        answer = memory.with_use(memory.search(question))
        if answer.hits and behind:
            answer = replace(answer, lacks=" ".join(filter(None, [behind, answer.lacks])))
    if both and (beside := find_beside_memory(environment)):
        answer = beside.join_answer(question, answer)
    if not folder:
        return answer
    return limit_to_project(answer, locate_project(folder, environment.choice.root, environment.person))


def find_beside_memory(environment: Environment) -> BesideMemory | None:
    """What answers beside the memory that is meant; None where nothing does."""
    return next((found for part in environment.parts if part.beside and (found := part.beside(environment))), None)


def bring_level(memory: Memory) -> str:
    """Indexes a small change before a search; a sentence on who does a large one, or what it needs."""
    with show_progress() as show:
        behind = memory.upkeep.refresh(show)
    unfinished = memory.upkeep.count_unfinished(behind)
    is_level = not behind.count and not unfinished
    return "" if is_level else f"The indices are {how_level(behind.count, unfinished, memory.owner())}."


def lines_here(environment: Environment, name: str, *, with_tools: bool) -> dict[str, Any]:
    """Lines of a source."""
    beside = find_beside_memory(environment)
    if beside and (found := beside.read_lines(name, with_tools=with_tools)):
        return found
    with open_memory(environment) as memory:
        return reading_json(memory.read(name, with_tools=with_tools))
