"""How well a memory answers what its person asked, by what they said of the answers: a test set of one's own.

A source counts by its file, since lines move with every edit, and a session by its id, whether its digest or its turns
are shown. Asking for it logs nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memory_server.document import Answer, Hit, SourcePath, session_of_path
from memory_server.errors import OneirosError
from memory_server.layers.sessions import cut_id8, parse_id8
from memory_server.memory import Memory
from memory_server.search.query_log import AnswerVerdict, JudgedQuestion
from memory_server.search.question import Question, Search, parse_logged
from parts.models.replay import list_logged

SHOWN = 10
LookUp = Callable[[Question], Answer]


@dataclass(frozen=True, slots=True)
class Judged:
    """The judged questions, answered now."""

    questions: int  # for which a right source is known
    first: int  # of these, how many show a right source first
    among: int  # among ten
    unanswerable: int  # for which the person said that the memory knows nothing
    silent: int  # of these, how many are answered with nothing


def to_judge(memory: Memory, limit: int) -> list[tuple[Search, str]]:
    """Those of the logged questions that nobody has judged yet."""
    known = {(one.tool, one.query) for one in memory.judgements()}
    return [one for one in list_logged(memory, limit) if one not in known]


def answer_now(memory: Memory, tool: Search, query: str) -> tuple[Hit, ...]:
    """The hits of a question today, one a file, best first; none where it cannot be asked any more."""
    return answer_query(memory.look_up, tool, query)


def answer_query(look_up: LookUp, tool: Search, query: str) -> tuple[Hit, ...]:
    """The same by whoever answers."""
    try:
        hits = look_up(parse_logged(query, tool, limit=SHOWN)).hits
    except OneirosError:
        return ()
    best: dict[str, Hit] = {}
    for hit in hits:
        best.setdefault(hit.path, hit)
    return tuple(best.values())


def judge_now(memory: Memory) -> Judged:
    """How the judged questions are answered today."""
    return judge_answers(memory.look_up, memory.judgements())


def judge_answers(look_up: LookUp, judgements: Sequence[JudgedQuestion]) -> Judged:
    """The same by whoever answers."""
    ranks = list(_ranks(look_up, judgements))
    known = [rank for is_known, rank in ranks if is_known]
    unknown = [rank for is_known, rank in ranks if not is_known]
    return Judged(len(known), known.count(1), sum(rank > 0 for rank in known), len(unknown), unknown.count(0))


def _ranks(look_up: LookUp, judgements: Sequence[JudgedQuestion]) -> Iterator[tuple[bool, int]]:
    """For each question whether a right source is known, and the rank of the first one; where none is known, the
    number of hits. What is missing and stands nowhere known tells nothing.
    """
    for one in judgements:
        right = {_source(path) for path, verdict in one.verdicts.items() if path and verdict is not AnswerVerdict.WRONG}
        found = [_source(hit.path) for hit in answer_query(look_up, Search(one.tool), one.query)]
        if right:
            yield True, next((rank for rank, source in enumerate(found, start=1) if source in right), 0)
        elif AnswerVerdict.MISSING not in one.verdicts.values():
            yield False, len(found)


def _source(path: str) -> str:
    return parse_id8(path) or cut_id8(session_of_path(path)) or path


def parse_judgement(tool: Search, query: str, hits: tuple[Hit, ...], typed: str) -> JudgedQuestion | None:
    """What a person typed, as a judgement: numbers of the right hits, `w`: none is and there is none, `m FILE`: it is
    missing, and stands there. None where it is nothing of these.
    """
    paths = [hit.path for hit in hits]
    word, _, place = typed.strip().partition(" ")
    numbers = typed.replace(",", " ").split()
    if word == "m":
        missing = {SourcePath(place.strip()): AnswerVerdict.MISSING}
        return JudgedQuestion(tool, query, {**dict.fromkeys(paths, AnswerVerdict.WRONG), **missing})
    if word == "w" and not place:
        return JudgedQuestion(
            tool, query, dict.fromkeys(paths, AnswerVerdict.WRONG) or {SourcePath(""): AnswerVerdict.WRONG}
        )
    if not numbers or not all(number.isdecimal() and 1 <= int(number) <= len(paths) for number in numbers):
        return None
    right = {paths[int(number) - 1] for number in numbers}
    return JudgedQuestion(
        tool, query, {path: AnswerVerdict.RIGHT if path in right else AnswerVerdict.WRONG for path in paths}
    )
