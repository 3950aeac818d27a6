"""The footnotes of a Markdown text: where they are defined and where they are referred to, outside code.

A statement's provenance stands in one. What it says is not read here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from memory_server.chunking import FOOTNOTE_DEFINITION, code_lines, split_lines

REFERENCE = re.compile(r"(?<!\\)\[\^([^\]\[\s]{1,100})\]")


@dataclass(frozen=True, slots=True)
class Footnotes:
    """By name, the lines of the text, counted from 0."""

    defined: Mapping[str, list[int]]
    used: Mapping[str, list[int]]


def find_footnotes(body: str) -> Footnotes:
    """All footnotes of a body, in the order in which they come."""
    code = code_lines(body)
    defined: dict[str, list[int]] = {}
    used: dict[str, list[int]] = {}
    for number, line in enumerate(split_lines(body)):
        if number in code:
            continue
        text = line
        if definition := FOOTNOTE_DEFINITION.match(line):
            defined.setdefault(definition[0].strip()[2:-2], []).append(number)
            text = line[definition.end() :]
        for name in REFERENCE.findall(without_code_spans(text)):
            used.setdefault(name, []).append(number)
    return Footnotes(defined, used)


def without_code_spans(line: str) -> str:
    """A line of Markdown without what stands between equal runs of backticks."""
    parts = re.split(r"(`+)", line)
    last = {run: place for place, run in enumerate(parts) if place % 2}
    outside, place = [], 0
    while place < len(parts):
        if place % 2 and last[parts[place]] > place:
            place = parts.index(parts[place], place + 1)  # odd places alone hold backticks
        elif place % 2 == 0:
            outside.append(parts[place])
        place += 1
    return "".join(outside)
