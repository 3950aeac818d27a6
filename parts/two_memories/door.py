"""Inside a project that has a memory of its own: its memory and the account's, asked together.

Each is asked by its own daemon: that of the project asks that of the account, as any client does, while it searches
itself. It waits for a bounded time; without the account's answer its own stands, and says so. Where there is one memory
nothing is asked and nothing runs. The account's is told to nobody whose memory the person does not trust, or trusts no
longer: trust and the setting `both_memories` are looked up for every question.
"""

import datetime as dt
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from dream.judge.compare import CONTRADICTS_FROM, near_pairs
from dream.judge.contradiction import measure_contradiction
from dream.statements.reading import read_statement
from memory_server.chunking import split_lines
from memory_server.document import Answer, Certainty, Hit, Layer, LineRange
from memory_server.errors import NeedsRepair, OneirosError
from memory_server.escaping import escape_line
from memory_server.faces.answer_text import answer_of_json
from memory_server.language.words import measure_rarity
from memory_server.memory import Memory
from memory_server.reading import SourceText
from memory_server.root.paths import MemoryRoot
from memory_server.search.precedence import may_decide
from memory_server.search.question import Question, question_json
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment
from oneiros.hooks.pointers import statements
from oneiros.light.endpoint import is_running
from parts.two_memories.joining import ACCOUNT, BOTH, in_account, join_answers, make_address
from parts.two_memories.wanted import uses_both_memories

ACCOUNT_SECONDS = 3.0  # for the account's answer, from the question on
AT_ONCE = 4  # questions to the account's memory under way
COMPARED = 4  # topics of either memory that are compared
ACCOUNT_MISSING = "The account's memory was not asked: %s."
LATE = f"its daemon gave no answer within {ACCOUNT_SECONDS:.0f} seconds"
DIFFER = "%s:%s and %s:%s differ (%s); here the project's applies."
START = (
    "import os, sys; from oneiros.light.endpoint import start_daemon; "
    "start_daemon(os.environ, sys.argv[1], 'http').close()"
)


def project_name(root: MemoryRoot) -> str:
    """The name of the folder that a project's memory belongs to."""
    return root.path.parent.name if root.path.name == "memory" else root.path.name


class TwoMemories:
    """Answers for an open memory, with the account's beside it where one stands there. Threads may share it."""

    def __init__(self, environment: Environment, memory: Memory):
        self.memory = memory
        self._account = environment.own_root
        variables = {key: value for key, value in environment.variables.items() if key != "ONEIROS_ROOT"}
        self._variables: Mapping[str, str] = variables
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="account")

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def is_wanted(self) -> bool:
        return uses_both_memories(self._account, self.memory.root, self.memory.person)

    def warm_up(self) -> None:
        """Starts the account's daemon where it will be asked, so that the first question does not wait for it."""
        if self.is_wanted:
            self._start()

    def search(self, question: Question) -> Answer:
        """The joined answer; that of the project's memory alone where the account's does not come in time."""
        if not self.is_wanted:
            return self.memory.search(question)
        until = time.monotonic() + ACCOUNT_SECONDS
        asking = self._pool.submit(self._ask, question)
        ours = self.memory.search(question)
        try:
            theirs = asking.result(max(0.0, until - time.monotonic()))
        except (TimeoutError, DaemonLost, KeyError, ValueError):  # the last two: a daemon of another version
            asking.cancel()
            return _alone(ours, LATE)
        except OneirosError as error:
            return _alone(ours, escape_line(str(error)).rstrip("."))
        return together(question, ours, theirs, self.memory.root)

    def read(
        self, name: str, first: int | None = None, last: int | None = None, *, with_tools: bool = False
    ) -> SourceText:
        """Lines of a source of either memory; an address leads into the account's. Raises as `Memory.read` does."""
        if not (wanted := self._parse_address(name)):
            return self.memory.read(name, first, last, with_tools=with_tools)
        lines = {key: value for key, value in (("first", first), ("last", last)) if value is not None}
        tools = {"with_tools": "true"} if with_tools else {}  # which an older daemon does not know
        return _reading_of_json(self._read_there("/api/read", {"name": wanted, **lines, **tools}))

    def read_session(self, name: str, depth: str, first: int = 1) -> str:
        """A session of either memory, likewise."""
        if not (wanted := self._parse_address(name)):
            return self.memory.read_session(name, depth, first)
        return str(self._read_there("/api/session", {"name": wanted, "depth": depth, "first": first})["text"])

    def _parse_address(self, name: str) -> str:
        return in_account(name) if self.is_wanted else ""

    def _ask(self, question: Question) -> Answer:
        wanted = question_json(question) | {"explain": True, "quiet": True}
        return answer_of_json(self._request("POST", question.search.route, wanted))

    def _read_there(self, path: str, wanted: Mapping[str, object]) -> dict[str, Any]:
        try:
            return self._request("GET", f"{path}?{urlencode(wanted, errors='surrogateescape')}")
        except DaemonLost as error:
            raise NeedsRepair(
                "the account's memory does not answer", remedy="Try again, or `oneiros doctor`"
            ) from error

    def _request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """What the account's daemon answers, which is started if need be."""
        self._start()
        return Client(self._variables, self._account.path).ask(method, path, body, seconds=ACCOUNT_SECONDS)

    def _start(self) -> None:
        """By a process of its own: this one has threads, and must not be forked."""
        if not is_running(str(self._account.path)):
            command = [sys.executable, "-P", "-c", START, str(self._account.path)]
            subprocess.run(command, env=dict(self._variables), stderr=subprocess.DEVNULL, check=False)


def _alone(ours: Answer, why: str) -> Answer:
    """The project's answer, with a word that the account's memory was not asked."""
    return replace(ours, note=" ".join(filter(None, [ours.note, ACCOUNT_MISSING % why])))


def _reading_of_json(found: Mapping[str, Any]) -> SourceText:
    """A reading of the account's memory; turns, which have several lines each, stay one part."""
    layer, text = Layer(found["layer"]), str(found["text"])
    return SourceText(
        make_address(found["path"]),
        layer,
        found["title"],
        dt.date.fromisoformat(found["date"]) if found["date"] else None,
        LineRange(found["first_line"], found["last_line"]),
        found["of_lines"],
        (text,) if layer is Layer.RAW else tuple(split_lines(text)),
        tuple(found.get("marks", ())),  # an older daemon tells none
    )


# -- what both say --------------------------------------------------------------------------------------------------


def together(question: Question, ours: Answer, theirs: Answer, root: MemoryRoot) -> Answer:
    """One answer of both, in which topics that differ stand in the order of precedence and the answer says so."""
    answer = join_answers(question, ours, theirs, project_name(root))
    sure = [hit for hit in answer.hits if hit.certainty is not Certainty.PERHAPS]  # others may speak of anything
    topics = [hit for hit in sure if hit.layer is Layer.TOPIC and may_decide(hit)]
    mine, other = ([hit for hit in topics if (hit.memory == ACCOUNT) is is_other] for is_other in (False, True))
    if not (mine and other):
        return answer
    hits, notes = list(answer.hits), []
    for winner, loser, why in _differing(mine[:COMPARED], other[:COMPARED]):
        notes.append(why)
        at, its = (next(n for n, hit in enumerate(hits) if hit.chunk == one.chunk) for one in (loser, winner))
        hits[at] = replace(loser, replaced_by=winner.path, decides=False)
        if at < its:
            hits.insert(at, replace(hits.pop(its), certainty=loser.certainty))
    note = answer.note.replace(BOTH, " ".join(notes)) if notes else answer.note  # which says the same of these
    return replace(answer, hits=tuple(hits), note=note)


def _differing(mine: Sequence[Hit], other: Sequence[Hit]) -> list[tuple[Hit, Hit, str]]:
    """For each topic of the account's that one of the project's goes against: both, and a sentence that says so."""
    found_statements = [
        (hit, hit.lines.first + line, read_statement(text))
        for hit in (*mine, *other)
        for line, text in statements(hit.passage)
    ]
    readings = [reading for _, _, reading in found_statements]
    rarity = measure_rarity(reading.text for reading in readings)
    found: dict[str, tuple[float, Hit, Hit, str]] = {}
    for first, second in near_pairs(readings):
        (ours, line, new), (theirs, its_line, old) = found_statements[first], found_statements[second]
        if ours in mine and theirs in other:
            against = measure_contradiction(new, old, rarity)
            why = escape_line(DIFFER % (ours.path, line, theirs.path, its_line, against.why))
            if theirs.path not in found or against.score > found[theirs.path][0]:
                found[theirs.path] = (against.score, ours, theirs, why)
    return [(ours, theirs, why) for score, ours, theirs, why in found.values() if score >= CONTRADICTS_FROM]
