"""How sure a hit is to answer the question, as a word that a person understands; it never rises down an answer.

sure       an approved topic that answers, or words that stand there as they were asked for
likely     a passage that fits well: about half of the best ones did answer, see benchmarks/RESULTS.md
perhaps    a passage near the question, and everything in an answer that little speaks for
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memory_server.document import Answer, Certainty, Hit
from memory_server.search.precedence import fit
from memory_server.search.question import Search
from memory_server.search.retrieval import AS_WRITTEN, IN_ANOTHER_CASE, OF_TIME

LIKELY_SCORE = 3.5  # of a passage by the weights of what was said, whichever layer it is of
LIKELY_MEANING = 3.5  # scaled cosine, where meaning alone is asked
ORDER = (Certainty.SURE, Certainty.LIKELY, Certainty.PERHAPS)


def with_certainty(hits: Sequence[Hit], search: Search, *, is_unsure: bool) -> tuple[Hit, ...]:
    """Hits with their words. `is_unsure`: the answer as a whole is."""
    return tuple(_falling(hits, [Certainty.PERHAPS if is_unsure else how_sure(hit, search) for hit in hits]))


def _falling(hits: Sequence[Hit], words: Sequence[Certainty]) -> Iterator[Hit]:
    least = 0
    for hit, word in zip(hits, words, strict=True):
        least = max(least, ORDER.index(word))
        yield replace(hit, certainty=ORDER[least])


def limit_to_project(answer: Answer, project: str) -> Answer:
    """An answer as it is told in a project: what another one holds decides nothing there, and is at most likely."""
    if not project:
        return answer

    far = [hit.project.casefold() not in ("", project.casefold()) for hit in answer.hits]
    hits = [replace(hit, decides=hit.decides and not other) for hit, other in zip(answer.hits, far, strict=True)]
    words = [
        max(hit.certainty, Certainty.LIKELY, key=ORDER.index) if other else hit.certainty
        for hit, other in zip(hits, far, strict=True)
    ]
    return replace(answer, hits=tuple(_falling(hits, words)))


def how_sure(hit: Hit, search: Search) -> Certainty:
    """The word of one hit by itself."""
    details = {reason.detail for reason in hit.why if reason.arm == "literal"}
    if hit.decides or AS_WRITTEN in details or any(reason.detail == OF_TIME for reason in hit.why):
        return Certainty.SURE
    if search is Search.EXACT:
        return Certainty.LIKELY if IN_ANOTHER_CASE in details else Certainty.PERHAPS
    if search is Search.MEANING:
        return Certainty.LIKELY if hit.parts.get("meaning", 0.0) >= LIKELY_MEANING else Certainty.PERHAPS
    return Certainty.LIKELY if fit(hit) >= LIKELY_SCORE else Certainty.PERHAPS
