"""What another model would answer to the questions of the log, before anything is switched.

The vectors and weights that it takes lie where they would lie if it were switched on, so that they are not made twice.
Nothing is logged, and no setting is changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memory_server.document import Hit, SourcePath
from memory_server.index.build import Progress
from memory_server.memory import Memory
from memory_server.search.query_log import AnswerVerdict
from memory_server.search.question import Search
from parts.models.judging import Judged, answer_query, judge_answers
from parts.models.replay import list_logged
from parts.models.trial import answer_with_model

MOST_QUESTIONS = 100


@dataclass(frozen=True, slots=True)
class FirstHit:
    """What a question is answered with first; empty where there is nothing."""

    path: str = ""
    line: int = 0
    passage: str = ""
    verdict: str = ""  # what the person said of it: right or wrong; empty where nothing


@dataclass(frozen=True, slots=True)
class Differing:
    """A question whose first hit differs."""

    tool: Search
    query: str
    now: FirstHit
    then: FirstHit


@dataclass(frozen=True, slots=True)
class Tried:
    """A model beside the one in use."""

    model: str
    in_use: str
    questions: int
    differing: tuple[Differing, ...]
    judged_now: Judged  # how the questions are answered that the person judged
    judged_then: Judged


def try_model(memory: Memory, name: str, report_progress: Callable[[Progress], None]) -> Tried:
    """Asks both the last logged questions, each once. Raises NeedsRepair where the model's files are not here."""
    files = memory.catalogue.find_any(name)
    questions, judgements = list_logged(memory, MOST_QUESTIONS), memory.judgements()
    verdicts_of = {(Search(one.tool), one.query): one.verdicts for one in judgements}
    differing = []
    with answer_with_model(memory, files, report_progress) as then:
        for tool, query in questions:
            verdicts = verdicts_of.get((tool, query), {})
            first, other = (_first(answer_query(look_up, tool, query), verdicts) for look_up in (memory.look_up, then))
            if first.path != other.path:
                differing.append(Differing(tool, query, first, other))
        judged = [judge_answers(look_up, judgements) for look_up in (memory.look_up, then)]
    return Tried(files.card.name, memory.model.card.name, len(questions), tuple(differing), *judged)


def _first(hits: tuple[Hit, ...], verdicts: Mapping[SourcePath, AnswerVerdict]) -> FirstHit:
    if not hits:
        return FirstHit()
    hit, verdict = hits[0], verdicts.get(hits[0].path)
    word = AnswerVerdict.RIGHT if verdict is AnswerVerdict.MISSING else verdict or ""  # what was missed is right
    return FirstHit(hit.path, hit.lines.first, " ".join(hit.passage.split()), str(word))
