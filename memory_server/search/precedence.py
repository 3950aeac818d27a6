"""What of the hits is shown, and in which order: a few a source, and by the precedence rule a higher layer first, and
marked, where layers answer the same thing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from memory_server.document import Hit, SourcePath

MAX_MORE_LINES = 4


def grouped(hits: Sequence[Hit], per_source: int) -> list[Hit]:
    """At most `per_source` hits of one source, each naming the lines of those left out; one hit a line."""
    kept: dict[str, list[int]] = {}
    shown: list[Hit] = []
    for hit in hits:
        places = kept.setdefault(hit.path, [])
        if any(shown[place].lines == hit.lines for place in places):
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
