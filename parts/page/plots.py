"""Plots as SVG that the server makes: no script draws, a reader without one gets the table below each.

Lengths are shares of a plot's width and height, so that it fills its place and its words keep their size. Colours are
classes of the style sheet. A plot has one unit.
"""

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from memory_server.escaping import escape_line

WEEK = 7
PLACE = 'x="{:.2f}%" y="{:.2f}%" width="{:.2f}%" height="{:.2f}%"'
BAR = Markup(f'<rect class="c{{}}" {PLACE}><title>{{}}</title></rect>')  # noqa: S704  a constant
TILE = Markup(  # noqa: S704  a constant
    f'<svg {PLACE}><a href="{{}}"><rect class="m{{}}" width="100%" height="100%"/>'
    '<text x="8" y="19">{}</text><title>{}</title></a></svg>'
)
DAY = Markup('<rect class="s{}" x="{}" y="{}" width="8.6" height="8.6" rx="2"><title>{}: {} {}</title></rect>')
QUIET_DAYS = Markup('<path class="s0" d="{}"/>')  # one for all: a year of rectangles is 30 kB
SHADES = 4  # of the calendar, above none
Rectangle = tuple[float, float, float, float]  # x, y, width, height, in hundredths of the whole


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing, and the same as a table."""

    kind: Literal["bars", "calendar", "line", "map"]
    title: str
    unit: str
    svg: Markup
    head: Sequence[str]  # of the table
    rows: Sequence[Sequence[object]]
    series: Sequence[str] = ()  # names of what is stacked, by their colours
    most: float = 0
    ends: tuple[str, str] = ("", "")  # of the horizontal axis


@dataclass(frozen=True, slots=True)
class Tile:
    """One thing on a map: what it is called, how large it is, where it leads."""

    name: str
    size: int
    address: str
    group: str = ""


def draw_bars(title: str, unit: str, counts: Mapping[str, Sequence[int]], series: Sequence[str]) -> Plot:
    """A bar for each label, of as many pieces as there are series."""
    most = max((sum(one) for one in counts.values()), default=0)
    wide, drawn = 100 / max(len(counts), 1), Markup()
    for place, (label, pieces) in enumerate(counts.items()):
        top = 100.0
        described = f"{label}: " + ", ".join(f"{count} {name}" for count, name in zip(pieces, series, strict=True))
        for colour, count in enumerate(pieces):
            high = 100 * count / max(most, 1)
            top -= high
            if count:
                drawn += BAR.format(colour, place * wide + wide * 0.1, top, wide * 0.8, high, described)
    rows = [(label, *pieces) for label, pieces in counts.items() if any(pieces)]
    labels = list(counts) or [""]
    return Plot("bars", title, unit, drawn, ("", *series), rows, series, most, (labels[0], labels[-1]))


def draw_calendar(title: str, unit: str, counts: Mapping[dt.date, int], today: dt.date) -> Plot:
    """A year of days, a column a week from Monday to Sunday, the darker the more."""
    first = today - dt.timedelta(days=today.weekday() + 52 * WEEK)
    days = [first + dt.timedelta(days=number) for number in range((today - first).days + 1)]
    most = max((counts.get(day, 0) for day in days), default=0)
    drawn, quiet = Markup(), ""
    for number, day in enumerate(days):
        x, y = number // WEEK * 10, number % WEEK * 10
        if count := counts.get(day, 0):
            drawn += DAY.format(-(-SHADES * count // most), x, y, day, count, unit)
        else:
            quiet += f"M{x + 1} {y + 1}h6.6v6.6h-6.6z"
    drawn += QUIET_DAYS.format(quiet)
    rows = [(day, counts[day]) for day in reversed(days) if counts.get(day)]
    return Plot(
        "calendar", title, unit, drawn, ("day", unit), rows, most=most, ends=(f"{first:%B %Y}", f"{today:%B %Y}")
    )


def draw_line(title: str, unit: str, points: Sequence[tuple[float, float]]) -> Plot:
    """A line through points, whose first numbers rise; what is no number is left out."""
    finite = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    most = max((y for _, y in finite), default=0.0)
    first, last = (finite[0][0], finite[-1][0]) if finite else (0.0, 0.0)
    drawn = " ".join(
        f"{100 * (x - first) / ((last - first) or 1):.2f},{100 - 100 * y / (most or 1):.2f}" for x, y in finite
    )
    svg = Markup('<polyline points="{}"/>').format(drawn)
    return Plot("line", title, unit, svg, ("step", unit), finite, most=most, ends=(f"{first:g}", f"{last:g}"))


def draw_map(title: str, unit: str, tiles: Sequence[Tile]) -> Plot:
    """Tiles as large as what they stand for, those of a group side by side, each group in a colour."""
    groups: dict[str, list[Tile]] = {}
    for tile in sorted(tiles, key=lambda one: -one.size):
        groups.setdefault(tile.group, []).append(tile)
    names = sorted(groups, key=lambda name: -sum(one.size for one in groups[name]))
    drawn = Markup()
    for colour, (name, (x, y, wide, high)) in enumerate(
        zip(names, divide([sum(one.size for one in groups[name]) for name in names]), strict=True)
    ):
        for tile, inner in zip(groups[name], divide([one.size for one in groups[name]]), strict=True):
            drawn += TILE.format(
                *(x + inner[0] * wide / 100, y + inner[1] * high / 100, inner[2] * wide / 100, inner[3] * high / 100),
                *(tile.address, colour % 3, escape_line(tile.name), f"{escape_line(tile.name)}, {tile.size:,} {unit}"),
            )
    rows = [(tile.group or "none", tile.name, f"{tile.size:,}") for name in names for tile in groups[name]]
    return Plot("map", title, unit, drawn, ("project", "topic", unit), rows)


def divide(sizes: Sequence[int]) -> Iterator[Rectangle]:
    """Rectangles for sizes that fall, as near to squares as rows of them get (Bruls et al. 2000)."""
    x, y, wide, high = 0.0, 0.0, 100.0, 100.0
    rest = list(sizes)
    while rest:
        scale, side = wide * high / max(sum(rest), 1), min(wide, high)
        count = min(range(1, len(rest) + 1), key=lambda number: _stretch(rest[:number], scale, side))
        row, rest = rest[:count], rest[count:]
        thick, along = sum(row) * scale / side if side else 0.0, 0.0
        for size in row:
            long = size * scale / thick if thick else 0.0
            yield (x, y + along, thick, long) if wide >= high else (x + along, y, long, thick)
            along += long
        if wide >= high:
            x, wide = x + thick, wide - thick
        else:
            y, high = y + thick, high - thick


def _stretch(row: Sequence[int], scale: float, side: float) -> float:
    """How far the worst rectangle of a row is from a square."""
    area = max(sum(row) * scale, 1e-9)
    return max(
        max(side * side * size * scale / area**2, area**2 / max(side * side * size * scale, 1e-9)) for size in row
    )
