"""What of the hits is shown, and in which order: a few a source, and by the precedence rule a higher layer first, and
marked, where layers answer the same thing.

A topic that answers the question stands above all else. Topics are ranked by themselves for it, for the most part by
meaning, and the best one answers where the tokens of the question find partners in it: one that is merely about the
same stays where the ranking of all layers put it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from memory_server.document import Answer, Certainty, Hit, Layer, RejectedWords, SourcePath, session_of_path
from memory_server.search.question import Question, Search

EPSILON = 1e-6  # of a score from 0 to 1: below it two hits are equal, and the stronger one may stand first
ORDER = (Certainty.SURE, Certainty.LIKELY, Certainty.PERHAPS)
SPOKEN = {"tokens": 1.0, "meaning": 0.3, "words_near": 1.0}  # what reranks stretches; see benchmarks/RESULTS.md
MAX_MORE_LINES = 5  # one more than a face shows, so that it can say that there are more
INDEX_PAGE = "MEMORY.md"
TOPICS = {"tokens": 0.5, "tokens_near": 0.5, "meaning": 1.0}  # what ranks topics by themselves
ANSWERS = 0.8  # token match of a topic's passage from which on it answers, beyond
SHARE_OF_SESSION = 0.3  # of the best session's score; both chosen with projects left out, see benchmarks/RESULTS.md


def fit(hit: Hit) -> float:
    """The score of a hit of recall by the weights of what was said, in units of the unrelated."""
    return sum(weight * hit.parts.get(name, 0.0) for name, weight in SPOKEN.items())


def says_enough(parts: Mapping[str, float], sessions: Sequence[Hit] = ()) -> bool:
    """Whether a passage of a topic, by the parts of its score, answers the question beside these sessions."""
    return parts.get("tokens", 0.0) >= ANSWERS + SHARE_OF_SESSION * max(map(fit, sessions), default=0.0)


def group_hits(hits: Sequence[Hit], per_source: int) -> list[Hit]:
    """At most `per_source` hits of one source, each naming the lines of those left out; one hit a line."""
    shown_places: dict[str, list[int]] = {}
    shown: list[Hit] = []
    for hit in hits:
        places = shown_places.setdefault(hit.path, [])
        if any(hit.lines in (shown[place].lines, *shown[place].more_lines) for place in places):
            continue  # another piece of the same long line
        if len(places) < per_source:
            places.append(len(shown))
            shown.append(hit)
        elif per_source == 1 and len(shown[places[0]].more_lines) < MAX_MORE_LINES:
            shown[places[0]] = replace(shown[places[0]], more_lines=(*shown[places[0]].more_lines, hit.lines))
    return shown


def with_precedence(
    hits: Sequence[Hit], alike: Callable[[Hit, Hit], bool], replaced: Mapping[SourcePath, SourcePath]
) -> tuple[Hit, ...]:
    """Hits, best first, in which a higher layer precedes a lower one that answers the same thing.

    Such a higher hit is marked as deciding; one that nobody approved, or that does not hold today, decides nothing. The
    lower one says what replaces it where the higher is not older, or where `replaced` names its source. Hits that
    answer different things keep their order.
    """
    deciding: dict[int, int] = {}  # place of a lower hit -> place of the hit that decides over it
    ranks = [hit.layer.rank for hit in hits]
    for low, hit in enumerate(hits):
        higher = [place for place, rank in enumerate(ranks) if rank < ranks[low] and may_decide(hits[place])]
        above = [place for place in higher if alike(hits[place], hit)]
        if above:
            deciding[low] = min(above, key=lambda place: (ranks[place], place))
    marked = [_mark_hit(hits, place, deciding, replaced) for place in range(len(hits))]
    ordered: list[int] = []
    for place in range(len(hits)):
        for wanted in (deciding.get(place, place), place):
            if wanted not in ordered:
                ordered.append(wanted)
    return tuple(marked[place] for place in ordered)


def mark_rejected(hits: Sequence[Hit], rejected: Iterable[RejectedWords]) -> tuple[Hit, ...]:
    """Hits, those marked that show words which the person rejected, of the session that they were rejected of."""
    of_session: dict[str, list[RejectedWords]] = {}
    for one in rejected:
        of_session.setdefault(one.session, []).append(one)
    marked = list[Hit]()
    for hit in hits:
        passage = _one_line(hit.passage) if of_session else ""
        own = of_session.get(session_of_path(hit.path), ())
        day = next((one.day.isoformat() for one in own if _one_line(one.text) in passage), "")
        marked.append(replace(hit, rejected=day) if day else hit)
    return tuple(marked)


def _one_line(text: str) -> str:
    return " ".join(text.casefold().split())


def may_decide(hit: Hit) -> bool:
    """Whether a hit is of an approved state that holds today."""
    return not (hit.unapproved or hit.outside)


def _mark_hit(
    hits: Sequence[Hit], place: int, deciding: Mapping[int, int], replaced: Mapping[SourcePath, SourcePath]
) -> Hit:
    hit = hits[place]
    if place in deciding.values():
        hit = replace(hit, decides=True)
    explicit = replaced.get(hit.path)
    if explicit and explicit != hit.path:
        return replace(hit, replaced_by=explicit)
    if place in deciding:
        winner = hits[deciding[place]]
        if winner.date and hit.date and winner.date >= hit.date:
            return replace(hit, replaced_by=winner.path)
    return hit


def asks_topics(question: Question) -> bool:
    """Whether a topic may stand first: recall without types, of all layers or of topics."""
    layers = question.filter.layers
    return question.search is Search.RECALL and not question.types and (not layers or Layer.TOPIC in layers)


def is_topic_page(hit: Hit) -> bool:
    """Whether a hit is of a topic or the lessons and holds today; the index page points to topics and says nothing."""
    return hit.layer is Layer.TOPIC and hit.path != INDEX_PAGE and not hit.outside


def select_sessions(hits: Sequence[Hit]) -> list[Hit]:
    return [hit for hit in hits if hit.layer is Layer.SESSION]


def with_topic(answer: Answer, topic: Hit, per_source: int, limit: int) -> Answer:
    """An answer with a topic that answers in the first place.

    Its other passages follow where they stood, as many of one source as are asked for; further ones are named by lines.
    """
    same = [hit for hit in answer.hits if hit.path == topic.path]
    nearby = [hit for hit in same if hit.lines != topic.lines][: per_source - 1]
    beside = (lines for hit in same if hit not in nearby for lines in (hit.lines, *hit.more_lines))
    more = [lines for lines in dict.fromkeys(beside) if lines != topic.lines][:MAX_MORE_LINES]
    others = [hit for hit in answer.hits if hit.path != topic.path or hit in nearby]
    first = replace(topic, more_lines=tuple(more))
    return replace(answer, hits=(first, *others)[:limit])


def falling(hits: Sequence[Hit], words: Iterable[Certainty]) -> Iterator[Hit]:
    """Hits with words that never rise down an answer; a perhaps decides nothing."""
    least = 0
    for hit, word in zip(hits, words, strict=True):
        least = max(least, ORDER.index(word))
        yield replace(hit, certainty=ORDER[least], decides=hit.decides and ORDER[least] is not Certainty.PERHAPS)


def is_elsewhere(hit: Hit, project: str) -> bool:
    """Whether a hit is of another project than this one; what is of none holds everywhere."""
    return hit.project.casefold() not in ("", project.casefold())


def limit_to_project(answer: Answer, project: str) -> Answer:
    """An answer as it is told in a project: what another one holds decides nothing there, and is at most likely."""
    if not project:
        return answer
    far = [is_elsewhere(hit, project) for hit in answer.hits]
    hits = [replace(hit, decides=hit.decides and not other) for hit, other in zip(answer.hits, far, strict=True)]
    words = [
        max(hit.certainty, Certainty.LIKELY, key=ORDER.index) if other else hit.certainty
        for hit, other in zip(hits, far, strict=True)
    ]
    return replace(answer, hits=tuple(falling(hits, words)), here=project)


def settle_ties(scores: Sequence[tuple[str, float]], strengths: Sequence[float]) -> list[int]:
    """The places of hits, best first, in which of neighbours that score the same the stronger stands first.

    `scores`: the layer of each hit, and its score.
    """
    order: list[int] = []
    start = 0
    for place in range(1, len(scores) + 1):
        if place == len(scores) or not is_tied(scores[place - 1], scores[place]):
            order += sorted(range(start, place), key=lambda one: -strengths[one])
            start = place
    return order


def is_tied(one: tuple[str, float], other: tuple[str, float]) -> bool:
    return one[0] == other[0] and abs(one[1] - other[1]) <= EPSILON
