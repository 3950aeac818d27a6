"""Where no daemon is asked: the account's memory opened in this process, beside the project's."""

from typing import Any

from memory_server.document import Answer
from memory_server.faces.memory_text import reading_json
from memory_server.search.question import Question
from oneiros.environment import Environment
from oneiros.opening import open_memory
from parts.two_memories.door import together
from parts.two_memories.joining import in_account, make_address


class AccountBeside:
    """The account's memory, beside the one that is meant."""

    def __init__(self, environment: Environment):
        self._environment = environment

    def join_answer(self, question: Question, answer: Answer) -> Answer:
        """One answer of both."""
        with open_memory(self._environment, self._environment.own_root) as account:
            theirs = account.with_use(account.look_up(question))
        return together(question, answer, theirs, self._environment.choice.root)

    def read_lines(self, name: str, *, with_tools: bool) -> dict[str, Any] | None:
        """Lines of a source of the account's; None for a name that is no address of one."""
        if not (wanted := in_account(name)):
            return None
        with open_memory(self._environment, self._environment.own_root) as account:
            found = reading_json(account.read(wanted, with_tools=with_tools))
        return {**found, "path": make_address(found["path"])}
