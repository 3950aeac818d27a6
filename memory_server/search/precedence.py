"""The precedence rule: where layers answer the same thing, the higher one comes first and is marked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from memory_server.document import Hit, SourcePath


def with_precedence(
    hits: Sequence[Hit], alike: Callable[[Hit, Hit], bool], replaced: Mapping[SourcePath, SourcePath]
) -> tuple[Hit, ...]:
    """Hits, best first, in which a higher layer precedes a lower one that answers the same thing.

    Such a higher hit is marked as deciding. The lower one says what replaces it where the higher is not older, or where
    `replaced` names its source. Hits that answer different things keep their order.
    """
    deciding: dict[int, int] = {}  # place of a lower hit -> place of the hit that decides over it
    ranks = [hit.layer.rank for hit in hits]
    for low, hit in enumerate(hits):
        above = [place for place, rank in enumerate(ranks) if rank < ranks[low] and alike(hits[place], hit)]
        if above:
            deciding[low] = min(above, key=lambda place: (ranks[place], place))
    marked = [_marked(hits, place, deciding, replaced) for place in range(len(hits))]
    ordered: list[int] = []
    for place in range(len(hits)):
        for wanted in (deciding.get(place, place), place):
            if wanted not in ordered:
                ordered.append(wanted)
    return tuple(marked[place] for place in ordered)


def _marked(
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
