"""Writes one statement into the text of a file: where it belongs, in the manner of its neighbours, with its footnote.

Pure text in and out. `anchored` finds the place again after the file has changed; `placed` writes. Frontmatter stays
true: `modified` is the day of the change, and a new file says where it comes from.
"""

import datetime as dt
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crawler.transcripts.turns import Role
from dream.records import Hunk, Kind, Place, hash_of
from memory_server.chunking import FOOTNOTE_DEFINITION, code_lines, split_lines
from memory_server.document import LineRange
from memory_server.escaping import shown_line
from memory_server.layers.footnotes import find_footnotes
from memory_server.layers.mif import new_frontmatter, parse_frontmatter, set_field

NAMESPACE = uuid.UUID("2b9a5a10-86a7-5d0e-8f43-f0a4b1d5c7e2")  # for ids of topics that a proposal founds
ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+]|(?P<number>\d{1,9})(?P<end>[.)]))(?P<gap>[ \t]+)")
HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+\S")
HISTORY = "## History"
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Manner:
    """How changes are written."""

    today: dt.date
    keeps_history: bool = False  # a line of what was replaced stays in the topic; git has it in any case


def anchored(text: str | None, hunk: Hunk) -> Place | None:
    """Where the hunk goes in the file as it is; None where it fits no longer: then it is retired.

    What it would replace must still stand there. What it would follow may have gone: then the end of its section will
    do, else the end of the file.
    """
    place = hunk.update.place
    if hash_of(text) == hunk.base:
        return place if text is None or is_prose(text, place.replaces) else None
    if text is None or says_already(text, hunk.text):
        return None
    lines = split_lines(text)
    if place.replaces is not None:
        found = _place_of_old_text(lines, place)
        return found if found is not None and is_prose(text, found.replaces) else None
    if not hunk.base:  # it was to be a new file, and meanwhile there is one
        return replace(place, after_line=last_line_of_body(text), title="")
    first = parse_frontmatter(text).body_line
    same = [number for number, line in enumerate(lines, start=1) if number >= first and _bare(line) == hunk.anchor]
    if hunk.anchor.strip() and same:
        return replace(place, after_line=min(same, key=lambda number: abs(number - place.after_line)))
    return replace(place, after_line=_end_of_section(text, hunk.heading))


def placed(text: str | None, hunk: Hunk, place: Place, manner: Manner) -> str:
    """The file with the hunk in it. `place` is from `anchored` on this text."""
    if text is None:
        text = new_file(hunk, place, manner)
        place = replace(place, after_line=len(split_lines(text)))
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith(("\n", "\r")):
        text += newline
    label = label_of(hunk, text)
    lines = split_lines(text)
    if place.replaces is not None:
        lines = _replaced(lines, place.replaces, _in_its_line(hunk.text, place, label, newline))
    else:
        lines = _inserted(lines, _legal_line(text, place.after_line), hunk, label, newline)
    lines = _with_footnote(lines, label, provenance_of(hunk), newline)
    if manner.keeps_history and place.replaces is not None:
        lines = _with_history(lines, place.old_text, hunk, manner, newline)
    changed = "".join(lines)
    return set_field(changed, "modified", manner.today.isoformat()) if parse_frontmatter(changed).block else changed


def new_file(hunk: Hunk, place: Place, manner: Manner) -> str:
    """A topic with its frontmatter and heading, and nothing else yet."""
    title = place.title or re.sub(r"[-_]+", " ", place.target.rpartition("/")[2].removesuffix(".md")).capitalize()
    is_lesson = place.target == "lessons.md"
    head = new_frontmatter(
        {
            "id": str(uuid.uuid5(NAMESPACE, f"{place.target} {hunk.id}")),
            "type": "procedural" if is_lesson else "semantic",
            "title": title,
            "created": manner.today.isoformat(),
            "modified": manner.today.isoformat(),
            **({"project": project} if (project := hunk.update.candidate.project.strip()) else {}),
        }
    )
    said_by_person = all(quote.role is Role.PERSON for quote in hunk.quotes)
    head = set_field(head, "provenance.sourceType", "user_explicit" if said_by_person else "agent_inferred")
    return set_field(head, "provenance.trustLevel", "verified") + f"\n# {title}\n"


def provenance_of(hunk: Hunk) -> str:
    """What the footnote says: ids and dates, never words."""
    parts = []
    for quote in hunk.quotes:
        day = f", {quote.time.date().isoformat()}" if quote.time else ""
        place = f"session {shown_line(quote.session_id)}, entry {shown_line(quote.entry)}"
        parts.append(f"{quote.role} in {place}{day}")
    return "; ".join(parts) or "written in a review"


def label_of(hunk: Hunk, text: str) -> str:
    """The name of the hunk's footnote, new to the text."""
    taken = find_footnotes(text).defined
    for chars in (8, 10, 12):
        label = f"d{hunk.id[:chars]}"
        if label not in taken:
            return label
    return next(label for number in range(2, 1_000) if (label := f"d{hunk.id}-{number}") not in taken)


def says_already(text: str, statement: str) -> bool:
    """Whether one paragraph or list item of the text has the same words in the same order."""
    wanted = words_of(statement)
    if not wanted:
        return False
    blocks = re.split(r"\n\s*\n|\n(?=[ \t]*(?:[-*+]|\d+[.)])[ \t])", parse_frontmatter(text).body.replace("\r\n", "\n"))
    return any(words_of(block) == wanted for block in blocks)


def words_of(text: str) -> list[str]:
    """The words of a statement in their order, case and footnotes left out: what makes two of them the same."""
    bare = re.sub(r"\[\^[^\]\s]+\]", "", text)
    return [word.casefold() for word in WORD.findall(bare)]


def is_prose(text: str, lines: LineRange | None) -> bool:
    """Whether these lines may give way to a statement: they stand in the body, outside code."""
    if lines is None:
        return True
    code = code_lines(text)
    return lines.first >= parse_frontmatter(text).body_line and code.isdisjoint(range(lines.first - 1, lines.last))


def last_line_of_body(text: str) -> int:
    """The last line that says something, the definitions of footnotes left out; counted from 1."""
    lines, code = split_lines(text), code_lines(text)
    for number in range(len(lines), 0, -1):
        line = lines[number - 1]
        if line.strip() and (number - 1 in code or not FOOTNOTE_DEFINITION.match(line)):
            return number
    return len(lines)


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _place_of_old_text(lines: Sequence[str], place: Place) -> Place | None:
    """Where the lines to be replaced stand: the occurrence nearest to where they were."""
    wanted = [_bare(line) for line in split_lines(place.old_text)]
    assert place.replaces is not None
    count = len(wanted)
    found = [
        first
        for first in range(1, len(lines) - count + 2)
        if [_bare(line) for line in lines[first - 1 : first - 1 + count]] == wanted
    ]
    if not found or not wanted:
        return None
    first = min(found, key=lambda number: abs(number - (place.replaces.first if place.replaces else 0)))
    return replace(place, after_line=first + count - 1, replaces=LineRange(first, first + count - 1))


def _end_of_section(text: str, heading: str) -> int:
    """The last line with words below a heading line; of the whole body where that heading is not there."""
    lines, code = split_lines(text), code_lines(text)
    starts = [number for number, line in enumerate(lines) if number not in code and heading and _bare(line) == heading]
    if not starts:
        return last_line_of_body(text)
    found = HEADING.match(heading)
    depth = len(found["marks"]) if found else 6
    end = starts[0]
    for number in range(starts[0] + 1, len(lines)):
        is_heading = number not in code and (mark := HEADING.match(lines[number]))
        if is_heading and mark and len(mark["marks"]) <= depth:
            break
        if lines[number].strip() and not FOOTNOTE_DEFINITION.match(lines[number]):
            end = number
    return end + 1


def _legal_line(text: str, wanted: int) -> int:
    """The line to write behind: never inside the frontmatter, a code block or the file's footnotes."""
    lines, code = split_lines(text), code_lines(text)
    number = min(max(wanted, parse_frontmatter(text).body_line - 1), len(lines))
    while 0 < number < len(lines) and number - 1 in code and number in code:
        number += 1
    while number > 0 and number - 1 not in code and FOOTNOTE_DEFINITION.match(lines[number - 1]):
        number -= 1
    return number


def _inserted(lines: Sequence[str], after: int, hunk: Hunk, label: str, newline: str) -> list[str]:
    before, behind = list(lines[:after]), list(lines[after:])
    while before and not before[-1].strip() and len(before) > 1:
        behind.insert(0, before.pop())
    item = _item_at(before)
    text = hunk.text
    if item is not None:
        return [*before, *_as_item(text, item, label, newline), *behind]
    if hunk.update.candidate.kind is Kind.LESSON or ITEM.match(text):
        new = _as_item(text, "- ", label, newline)
        joins = bool(behind and ITEM.match(_first_withwords_of(behind)))
    else:
        new, joins = _as_paragraph(text, label, newline), False
    gap_before = [newline] if before and before[-1].strip() else []
    gap_after = [newline] if behind and behind[0].strip() and not joins else []
    return [*before, *gap_before, *new, *gap_after, *behind]


def _first_withwords_of(lines: Sequence[str]) -> str:
    return next((line for line in lines if line.strip()), "")


def _item_at(before: Sequence[str]) -> str | None:
    """The mark for an item that follows these lines; None where they do not end in a list."""
    for line in reversed(before):
        found = ITEM.match(line)
        if found:
            mark = f"{int(found['number']) + 1}{found['end']}" if found["number"] else found["mark"]
            return f"{found['indent']}{mark}{found['gap']}"
        if not line.startswith((" ", "\t")) or not line.strip():
            return None
    return None


def _as_item(text: str, mark: str, label: str, newline: str) -> list[str]:
    own = ITEM.match(text)
    bare = text[own.end() :] if own else text
    first, *rest = _referring(bare, label).split("\n")
    indent = " " * len(mark)
    return [f"{mark}{first}{newline}", *(f"{indent}{line.strip()}{newline}" for line in rest if line.strip())]


def _as_paragraph(text: str, label: str, newline: str) -> list[str]:
    return [f"{line}{newline}" for line in _referring(text, label).split("\n")]


def _referring(text: str, label: str) -> str:
    """The statement with the reference to its footnote at its end."""
    text = text.replace("\r\n", "\n").strip()
    gap = "\n\n" if text.endswith(("```", "~~~")) else ""
    return f"{text}{gap}[^{label}]"


def _in_its_line(text: str, place: Place, label: str, newline: str) -> list[str]:
    """The statement where an older one stood: between what else its lines say, or as the item that it was."""
    old = split_lines(place.old_text)
    item = ITEM.match(old[0]) if old else None
    if not place.kept_before and not place.kept_after:
        return _as_item(text, item[0], label, newline) if item else _as_paragraph(text, label, newline)
    own = ITEM.match(text) if item else None
    said = _referring(text[own.end() :] if own else text, label)
    joined = f"{place.kept_before}{said}{place.kept_after}"
    return split_lines(joined if joined.endswith(("\n", "\r")) else joined + newline)


def _replaced(lines: Sequence[str], replaces: LineRange, new: Sequence[str]) -> list[str]:
    """The lines with others in the place of some; the footnotes that only those referred to go with them."""
    old = lines[replaces.first - 1 : replaces.last]
    return _without_orphans([*lines[: replaces.first - 1], *new, *lines[replaces.last :]], old)


def _without_orphans(lines: list[str], gone: Sequence[str]) -> list[str]:
    """The lines without the definitions of footnotes to which only the removed lines referred."""
    names = find_footnotes("".join(gone)).used
    text = "".join(lines)
    notes = find_footnotes(text)
    orphans = {number for name in names if name not in notes.used for number in notes.defined.get(name, ())}
    return [line for number, line in enumerate(lines) if number not in orphans]


def _with_footnote(lines: list[str], label: str, what: str, newline: str) -> list[str]:
    last = next((line for line in reversed(lines) if line.strip()), "")
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    gap = [] if FOOTNOTE_DEFINITION.match(last) else [newline]
    return [*lines, *gap, f"[^{label}]: {what}{newline}"]


def _with_history(lines: list[str], old_text: str, hunk: Hunk, manner: Manner, newline: str) -> list[str]:
    """The lines with what was replaced at the end of the history section, which is made where there is none."""
    text = "".join(lines)
    said = hunk.quotes[0].time if hunk.quotes else None
    until = said.date() if said else manner.today
    bare = re.sub(r"\[\^[^\]\s]+\]", "", " ".join(old_text.split()))
    entry = f"- Until {until.isoformat()}: {ITEM.sub('', bare, count=1).strip()}{newline}"
    code = code_lines(text)
    if not any(_bare(line) == HISTORY for number, line in enumerate(lines) if number not in code):
        at = last_line_of_body(text)
        return [*lines[:at], newline, HISTORY + newline, newline, entry, *lines[at:]]
    at = _end_of_section(text, HISTORY)
    gap = [newline] if _bare(lines[at - 1]) == HISTORY else []
    return [*lines[:at], *gap, entry, *lines[at:]]
