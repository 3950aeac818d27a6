"""What a command answers itself where no daemon runs: from the memory, opened in this process."""

from dataclasses import replace
from typing import Any

from memory_server.document import Answer
from memory_server.faces.memory_text import reading_json, topics_json
from memory_server.layers.topics import topic_heads
from memory_server.memory import Memory
from memory_server.search.joining import in_account, make_address
from memory_server.search.precedence import limit_to_project
from memory_server.search.question import Question
from memory_server.upkeep import how_level
from oneiros.cli.terminal.output import show_progress
from oneiros.daemon.status import read_status
from oneiros.daemon.two_memories import together, uses_both_memories
from oneiros.environment import Environment
from oneiros.hooks.whereabouts import locate_project
from oneiros.ingest.typed_lines import build_recorder
from oneiros.opening import open_memory


def answer_here(environment: Environment, question: Question, *, both: bool = False, folder: str = "") -> Answer:
    """The answer to a question. `both`: with the account's memory beside a project's. `folder`: in whose project."""
    answer = _answer(environment, question, both=both)
    return (
        limit_to_project(answer, locate_project(folder, environment.choice.root, environment.person))
        if folder
        else answer
    )


def _answer(environment: Environment, question: Question, *, both: bool) -> Answer:
    with open_memory(environment) as memory:
        behind = bring_level(memory)
        if question.types:
            build_recorder(memory).bring_level()
        answer = memory.with_use(memory.search(question))
        if answer.hits and behind:
            answer = replace(answer, lacks=" ".join(filter(None, [behind, answer.lacks])))
    if not (both and uses_both_memories(environment.own_root, memory.root, environment.person)):
        return answer
    with open_memory(environment, environment.own_root) as account:
        return together(question, answer, account.with_use(account.look_up(question)), memory.root)


def bring_level(memory: Memory) -> str:
    """Indexes a small change before a search; a sentence on who does a large one, or what it needs."""
    with show_progress() as show:
        behind = memory.upkeep.refresh(show)
    unfinished = memory.upkeep.count_unfinished(behind)
    is_level = not behind.count and not unfinished
    return "" if is_level else f"The indices are {how_level(behind.count, unfinished, memory.owner())}."


def lines_here(environment: Environment, name: str, *, with_tools: bool) -> dict[str, Any]:
    """Lines of a source."""
    root = environment.choice.root
    wanted = in_account(name) if uses_both_memories(environment.own_root, root, environment.person) else ""
    with open_memory(environment, environment.own_root if wanted else root) as memory:
        found = reading_json(memory.read(wanted or name, with_tools=with_tools))
    return {**found, "path": make_address(found["path"])} if wanted else found


def topics_here(environment: Environment) -> dict[str, Any]:
    """The list of topics."""
    with open_memory(environment) as memory:
        return topics_json(topic_heads(memory.root))


def gather_status(environment: Environment) -> dict[str, Any]:
    """How the memory stands."""
    with open_memory(environment) as memory:
        return read_status(environment, memory)
