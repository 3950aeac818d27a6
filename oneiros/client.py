"""Asking the daemon from another process: the same answers and the same errors as from `Memory` itself."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from memory_server.document import Answer
from memory_server.errors import ContentError, NeedsRepair, OneirosError, UsageError
from memory_server.escaping import plural
from memory_server.faces.answer_text import answer_of_json
from memory_server.search.question import Question, question_json
from oneiros.environment import Environment
from oneiros.light.endpoint import DaemonUnreachable, connect_daemon, read_token, request, start_daemon, state_folder

ANSWER_SECONDS = 120.0
UNAUTHORIZED = 401  # not http.HTTPStatus, whose import costs a question a millisecond
KINDS: dict[str, type[OneirosError]] = {kind.__name__: kind for kind in (UsageError, ContentError, NeedsRepair)}


class DaemonLost(Exception):
    """The daemon that was there a moment ago does not answer; the caller opens the memory itself."""


class DaemonAnswer(dict[str, Any]):
    """An object of an answer. What it lacks was not yet there in the version of the daemon that gave it."""

    def __missing__(self, _: str) -> Any:
        remedy = "Run `oneiros stop`; the next command starts this version"
        raise NeedsRepair("another version of oneiros serves this memory", remedy=remedy)


class Client:
    """Requests to the daemon of one root, a connection each."""

    def __init__(self, variables: Mapping[str, str], root: Path):
        self._variables = variables
        self._root = str(root)

    @classmethod
    def of(cls, environment: Environment) -> "Client":
        """The client for the memory that is meant."""
        return cls(environment.variables, environment.choice.root.path)

    def start(self) -> None:
        """Starts the daemon if there is none. Raises NeedsRepair where it does not start."""
        try:
            start_daemon(self._variables, self._root, "http").close()
        except (DaemonUnreachable, OSError) as error:
            raise NeedsRepair(f"the daemon does not start: {error}", remedy="Run `oneiros doctor`") from error

    def ask(
        self, method: str, path: str, body: Mapping[str, object] | None = None, *, seconds: float = ANSWER_SECONDS
    ) -> dict[str, Any]:
        """The answer of a route. Raises what the daemon's `Memory` raised, or DaemonLost."""
        connection = connect_daemon(self._variables, self._root, "http")
        if connection is None:
            raise DaemonLost
        content = json.dumps(body).encode() if body is not None else b""
        state = state_folder(self._variables, self._root)
        try:
            status, text = request(connection, read_token(state), method, path, content, seconds)
            answer = json.loads(text, object_hook=DaemonAnswer)
        except (OSError, ValueError) as error:
            raise DaemonLost from error
        if status == UNAUTHORIZED:
            what, remedy = "it does not open the daemon that runs", "Check its rights, or end the daemon: oneiros stop"
            raise NeedsRepair(what, where=Path(state) / "token", remedy=remedy)
        if status >= 400 and "error" in answer:
            fault = answer["error"]
            kind = KINDS.get(fault.get("kind"), NeedsRepair)
            raise kind(fault["what"], where=fault.get("where"), line=fault.get("line"), remedy=fault.get("remedy", ""))
        if not isinstance(answer, dict):
            raise DaemonLost
        return answer

    def search(self, question: Question, *, both: bool = False, folder: str = "") -> Answer:
        """An answer, from indices as level as a moment allows. `both`: of both memories, where two stand there.
        `folder`: in whose project it is told.
        """
        wanted = {"explain": True} | ({"both": True} if both else {})
        query = f"?{urlencode({'folder': folder}, errors='surrogateescape')}" if folder else ""
        found = self.ask("POST", f"{question.search.route}{query}", question_json(question) | wanted)
        answer = replace(answer_of_json(found), here=found.get("here", ""))  # an older daemon tells none
        if not found["behind"]:
            return answer
        lacks = f"Being read, and not in this answer: {plural(found['behind'], 'changed file')}. {answer.lacks}"
        return replace(answer, lacks=lacks.rstrip())
