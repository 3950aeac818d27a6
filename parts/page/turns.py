"""The turns of a session: a window of them, all of them drawn small, and those that a person looks for.

A window needs every turn, as a rewind or a later answer says what came of one. So the session that was looked at last
is kept as it was read, and another window of it costs what it shows.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Literal

from markupsafe import Markup

from crawler.archive.store import Archive
from crawler.facts import find_commits, parse_arguments
from crawler.outcome import TurnOutcome, find_outcomes
from crawler.transcripts.turns import Role, Turn
from memory_server.errors import ContentError

Only = Literal["", "mine", "errors", "commits"]
TURNS = 20  # loaded at a time
COLUMNS = 600  # of the map, which has no more to show on a screen
KINDS = {"failed": 24, "commit": 24, "you": 20, "claude": 12, "tool": 6}  # heights; of a column's kinds the first
NARROWED = {"mine": "you", "errors": "failed", "commits": "commit"}


@dataclass(frozen=True, slots=True)
class NumberedTurn:
    """One turn with what came of it."""

    number: int  # counted from 1
    turn: Turn
    outcome: TurnOutcome | None
    call: str  # what a tool was called with, in a line


@dataclass(frozen=True)
class TurnsOfSession:
    """All turns of a session, with what came of them."""

    turns: Sequence[Turn]
    outcomes: Mapping[int, TurnOutcome]

    @cached_property
    def kinds(self) -> Sequence[str]:
        """What each turn is drawn as."""
        return [find_kind(turn) for turn in self.turns]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many turns there are of each kind, in the order of the kinds."""
        counts = Counter(self.kinds)
        return {kind: counts[kind] for kind in reversed(KINDS) if counts[kind]}

    @cached_property
    def map(self) -> Markup:
        """A picture of all turns, a column each or for several, as tall and coloured as the most telling of them."""
        total, columns = len(self.kinds), min(len(self.kinds), COLUMNS)
        edges = [at * total // columns for at in range(columns + 1)] if total else [0]
        kinds = [min(self.kinds[a:b], key=list(KINDS).index) for a, b in pairwise(edges)]
        drawn, place = [], 0
        for kind, same in groupby(kinds):
            width, height = len(list(same)), KINDS[kind]
            drawn.append(Markup('<path class="{}" d="M{} 24v-{}h{}v{}z"/>').format(kind, place, height, width, height))
            place += width
        return Markup('<svg viewBox="0 0 {} 24" preserveAspectRatio="none" aria-hidden="true">{}</svg>').format(
            max(columns, 1), Markup("").join(drawn)
        )

    def find_number(self, entry: str) -> int:
        """The number of the turn that an entry is of, from 1; entries may be named by their beginnings."""
        found = (at for at, turn in enumerate(self.turns, 1) if any(one.startswith(entry) for one in turn.entries))
        return next(found, 1)

    def select(self, only: Only, words: str) -> Sequence[int]:
        """The numbers of the turns of a kind that hold some words."""
        numbers: Sequence[int] = range(1, len(self.turns) + 1)
        if only:
            numbers = [at for at in numbers if self.kinds[at - 1] == NARROWED[only]]
        if wanted := words.casefold().strip():
            texts = [f"{turn.arguments}\n{turn.text}".casefold() for turn in self.turns]
            numbers = [at for at in numbers if wanted in texts[at - 1]]
        return numbers

    def window(self, numbers: Sequence[int], first: int) -> Sequence[NumberedTurn]:
        """Some of the turns of these numbers, from the one numbered `first` on."""
        place = first - 1 if isinstance(numbers, range) else sum(at < first for at in numbers)
        return [self._number_turn(at) for at in numbers[max(0, place) : max(0, place) + TURNS]]

    def _number_turn(self, number: int) -> NumberedTurn:
        turn = self.turns[number - 1]
        return NumberedTurn(number, turn, self.outcomes.get(number), format_call(turn))


class TurnReader:
    """Reads the turns of archived sessions, and keeps those of the last one."""

    def __init__(self, archive: Archive):
        self._archive = archive
        self._last: tuple[object, TurnsOfSession] = (None, TurnsOfSession((), {}))

    def read(self, session_id: str) -> TurnsOfSession:
        """All turns of a session; none where its archive is damaged, or has none of it."""
        try:
            stat = self._archive.record_file(session_id).stat()
            state = (session_id, stat.st_size, stat.st_mtime_ns)  # its record is replaced whenever entries come
            known, found = self._last
            if known != state:
                turns = list(self._archive.turns(session_id))
                found = TurnsOfSession(turns, find_outcomes(turns))
                self._last = state, found
        except (ContentError, FileNotFoundError):
            return TurnsOfSession((), {})
        return found


def find_kind(turn: Turn) -> str:
    """What a turn is drawn as."""
    if turn.is_error:
        return "failed"
    if turn.role is Role.TOOL:
        return "commit" if find_commits([turn]) else "tool"
    return "you" if turn.role is Role.PERSON else "claude"


def format_call(turn: Turn) -> str:
    """What a tool was called with, in a line: its most telling argument."""
    if turn.role is not Role.TOOL:
        return ""
    given = parse_arguments(turn)
    shown = next((given[name] for name in ("command", "file_path", "pattern", "query", "url") if name in given), given)
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
