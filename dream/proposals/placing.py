"""Writes one statement into the text of a file: where it belongs, in the manner of its neighbours, with its footnote.

Pure text in and out. `anchor_hunk` finds the place again after the file has changed; `place_hunk` writes. Frontmatter
stays true: `modified` is the day of the change, and a new file says where it comes from.
"""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dream.changes import hash_text
from dream.records import Hunk, Place, StatementOrigin, split_words
from dream.statements.provenance import REWORDED, write_note
from memory_server.chunking import FOOTNOTE_DEFINITION, code_lines, split_lines
from memory_server.document import LineRange
from memory_server.layers.footnotes import find_footnotes
from memory_server.layers.mif import new_frontmatter, parse_frontmatter, set_field
from memory_server.machine.clock import local_day

ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+]|(?P<number>\d{1,9})(?P<end>[.)]))(?P<gap>[ \t]+)")
HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+\S")
HISTORY = "## History"
RULE = "---"  # between what a topic says and the footnotes of it
RULES = re.compile(r" {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$")


@dataclass(frozen=True, slots=True)
class Manner:
    """How changes are written."""

    today: dt.date
    keeps_history: bool = False  # a line of what was replaced stays in the topic; git has it in any case


@dataclass(frozen=True, slots=True)
class Item:
    """A list item of a text."""

    lines: LineRange
    labels: tuple[str, ...]  # of the footnotes that it refers to


def anchor_hunk(text: str | None, hunk: Hunk) -> Place | None:
    """Where the hunk goes in the file as it is; None where it fits no longer: then it is retired.

    What it would replace must still stand there. What it would follow may have gone: then the end of its section will
    do, else the end of the file.
    """
    place = hunk.update.place
    if hash_text(text) == hunk.base:
        return place if text is None or is_prose(text, place.replaces) else None
    if text is None or says_already(text, hunk.text):
        return None
    lines = split_lines(text)
    if place.replaces is not None:
        found = _place_of_old_text(lines, place)
        return found if found is not None and is_prose(text, found.replaces) else None
    if not hunk.base or place.section:  # it was to be a new file, and meanwhile there is one
        return replace(place, after_line=_end_above_sections(text), title="")
    first = parse_frontmatter(text).body_line
    same = [number for number, line in enumerate(lines, start=1) if number >= first and _bare(line) == hunk.anchor]
    if hunk.anchor.strip() and same:
        return replace(place, after_line=min(same, key=lambda number: abs(number - place.after_line)))
    return replace(place, after_line=_end_of_section(text, hunk.heading))


def place_hunk(text: str | None, hunk: Hunk, place: Place, manner: Manner, note: str = "") -> str:
    """The file with the hunk in it. `place` is from `anchor_hunk` on this text; `note` its footnote, if any."""
    if text is None:
        text = new_file(hunk, place)
        place = replace(place, after_line=last_line_of_body(text))
    newline = "\r\n" if "\r\n" in text else "\n"
    text = text if not text or text.endswith(("\n", "\r")) else text + newline
    lines, label = split_lines(text), next_label(text)
    if place.replaces is not None:
        kept = place.kept_before + place.kept_after
        label = _find_free_label(lines, place.replaces, kept) or label
        new = _end_lines(_in_its_line(hunk.text, place, label), newline)
        lines = _replace_lines(lines, place.replaces, new, kept)
    else:
        lines, after = _with_section(lines, text, place, newline)
        lines = _insert_item(lines, after, hunk.text, label, newline)
    candidate = hunk.update.candidate
    note = note or write_note(candidate, is_reworded=hunk.text != candidate.text)
    lines = _with_footnote(lines, label, note, newline)
    if manner.keeps_history and place.replaces is not None:
        lines = _with_history(lines, place.old_text, hunk, manner, newline)
    return set_change_day("".join(lines), manner.today)


def set_change_day(text: str, day: dt.date) -> str:
    """The text with the day of its change in its frontmatter, where that is valid and names one."""
    parsed = parse_frontmatter(text)
    return set_field(text, "modified", day.isoformat()) if parsed.text("modified") and not parsed.fault else text


def new_file(hunk: Hunk, place: Place) -> str:
    """A topic with its heading, whose it is and what it is about, and nothing else yet."""
    title = place.title or re.sub(r"[-_]+", " ", place.target.rpartition("/")[2].removesuffix(".md")).capitalize()
    candidate = hunk.update.candidate
    filed = candidate.metadata
    project = "" if place.target == "lessons.md" else candidate.project.strip()
    texts = {"project": project, "summary": place.summary, "type": filed.type, "namespace": filed.namespace}
    fields = {key: value for key, value in {**texts, "tags": filed.tags}.items() if value}
    head = new_frontmatter(fields) if fields else ""
    inferred = [
        one for one in candidate.inferred_metadata if one not in filed.citations
    ]  # those are marked where they stand
    if inferred:
        head = set_field(head, "extensions.oneiros.agent_inferred", ", ".join(inferred))
    return f"{head}# {title}\n\n{RULE}\n"


def next_label(text: str) -> str:
    """The name of the next footnote of a text: the number behind the highest."""
    notes = find_footnotes(text)
    return str(1 + max((int(label) for label in (*notes.defined, *notes.used) if label.isdecimal()), default=0))


def _find_free_label(lines: Sequence[str], replaces: LineRange, kept: str) -> str:
    """The lowest number of a footnote to which only what gives way on some lines refers; empty where there is none.

    `kept`: what stays of these lines.
    """
    gone = find_footnotes("".join(lines[replaces.first - 1 : replaces.last]))
    left = find_footnotes("".join([*lines[: replaces.first - 1], kept, "\n", *lines[replaces.last :]]))
    free = [label for label in gone.used if label.isdecimal() and label not in left.used]
    return min(free, key=int, default="")


def says_already(text: str, statement: str) -> bool:
    """Whether one paragraph or list item of the text has the same words in the same order."""
    wanted = split_words(statement)
    if not wanted:
        return False
    blocks = re.split(r"\n\s*\n|\n(?=[ \t]*(?:[-*+]|\d+[.)])[ \t])", parse_frontmatter(text).body.replace("\r\n", "\n"))
    return any(split_words(block) == wanted for block in blocks)


def find_item(text: str, statement: str) -> Item | None:
    """The list item that says just this; of several the one with a footnote. None where that is no one item."""
    lines, code = split_lines(text), code_lines(text)
    found = list[Item]()
    for first, line in enumerate(lines):
        if first not in code and ITEM.match(line):
            end = first + 1
            while end < len(lines) and lines[end].startswith((" ", "\t")) and lines[end].strip():
                end += 1
            item = "".join(lines[first:end])
            if split_words(ITEM.sub("", item, count=1)) == split_words(statement):
                found.append(Item(LineRange(first + 1, end), tuple(find_footnotes(item).used)))
    found = [one for one in found if one.labels] or found
    return found[0] if len(found) == 1 else None


def without_statement(text: str, statement: str) -> str | None:
    """The text without the list item that says this, and without its footnotes; None where `find_item` finds none."""
    item = find_item(text, statement)
    return "".join(_replace_lines(split_lines(text), item.lines, [])) if item else None


def take_from_origin(text: str | None, hunk: Hunk, origin: StatementOrigin, day: dt.date) -> tuple[str, str] | None:
    """The file that a statement leaves, without it, and the footnote that goes with it, as it is written there.

    None where it stands there no longer as it did, or without a footnote that can go.
    """
    item = find_item(text, origin.text) if text is not None else None
    note = read_item_note(text, item) if text is not None and item else ""
    left = without_statement(text, origin.text) if text is not None and note else None
    if left is None:
        return None
    if hunk.text != origin.text and not note.endswith(REWORDED):
        note = f"{note}; {REWORDED}"
    return set_change_day(left, day), note


def read_item_note(text: str, item: Item) -> str:
    """What the footnotes of an item say, in one line; empty where it has none, or one of several lines."""
    lines, defined = split_lines(text), find_footnotes(text).defined
    places = [defined.get(label, []) for label in item.labels]
    if not all(len(one) == 1 and _is_of_one_line(lines, one[0]) for one in places):
        return ""
    return "; ".join(filter(None, (FOOTNOTE_DEFINITION.sub("", lines[number]).strip() for [number] in places)))


def _is_of_one_line(lines: Sequence[str], number: int) -> bool:
    """Whether a footnote ends on the line that defines it, counted from 0. In Markdown it goes on to a blank line, and
    behind that with what is set in.
    """
    below = [line for line in lines[number + 1 : number + 2] if line.strip()]
    behind = next((line for line in lines[number + 1 :] if line.strip()), "")
    return all(map(_is_note, below)) and not behind.startswith(("    ", "\t"))


def is_prose(text: str, lines: LineRange | None) -> bool:
    """Whether these lines may give way to a statement: they stand in the body, outside code."""
    if lines is None:
        return True
    code = code_lines(text)
    return lines.first >= parse_frontmatter(text).body_line and code.isdisjoint(range(lines.first - 1, lines.last))


def last_line_of_body(text: str) -> int:
    """The last line that says something, footnotes and the rule above them left out; counted from 1."""
    lines, code = split_lines(text), code_lines(text)
    first, is_open = parse_frontmatter(text).body_line, True
    for number in range(len(lines), first - 1, -1):
        line = lines[number - 1]
        if line.strip() and (number - 1 in code or not _is_note(line)):
            if number - 1 in code or not is_open or not RULES.match(line):
                return number
            is_open = False
    return len(lines) if first > len(lines) else first - 1


def _is_note(line: str) -> bool:
    return FOOTNOTE_DEFINITION.match(line) is not None


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _place_of_old_text(lines: Sequence[str], place: Place) -> Place | None:
    """Where the lines to be replaced stand: the occurrence nearest to where they were."""
    wanted, bare = [_bare(line) for line in split_lines(place.old_text)], [_bare(line) for line in lines]
    count, was = len(wanted), place.replaces.first if place.replaces else 0
    found = [first for first in range(1, len(lines) - count + 2) if bare[first - 1 : first - 1 + count] == wanted]
    if not found or not wanted:
        return None
    first = min(found, key=lambda number: abs(number - was))
    return replace(place, after_line=first + count - 1, replaces=LineRange(first, first + count - 1))


def _end_of_section(text: str, heading: str) -> int:
    """The last line with words below a heading line; of the whole body where that heading is not there."""
    lines, headings, end = split_lines(text), find_headings(text), last_line_of_body(text)
    first = next((number for number, line in headings if _bare(line) == heading), None)
    if first is None:
        return end
    depth, below = find_depth(heading), [(number, line) for number, line in headings if number > first]
    # what stands below the title ends at the first section
    stop = next((number for number, line in below if depth == 1 or find_depth(line) <= depth), end)
    told = (at for at in range(first, min(stop, end)) if lines[at].strip() and not _is_note(lines[at]))
    return max(told, default=first) + 1


def is_list_item(line: str) -> bool:
    """Whether a list item begins on a line."""
    return ITEM.match(line) is not None


def _end_above_sections(text: str) -> int:
    """The last line of what stands before the first section."""
    headings = [line for _, line in find_headings(text)]
    return _end_of_section(text, _bare(headings[0])) if headings else last_line_of_body(text)


def find_headings(text: str) -> list[tuple[int, str]]:
    """The heading lines of a text, each with its number, counted from 0."""
    code = code_lines(text)
    return [(at, line) for at, line in enumerate(split_lines(text)) if at not in code and find_depth(line)]


def find_depth(line: str) -> int:
    """The level of a heading line; 0 for any other."""
    found = HEADING.match(line)
    return len(found["marks"]) if found else 0


def _legal_line(text: str, wanted: int) -> int:
    """The line to write behind: never inside the frontmatter, a code block or the file's footnotes."""
    lines, code = split_lines(text), code_lines(text)
    number = max(min(wanted, last_line_of_body(text)), parse_frontmatter(text).body_line - 1)
    while 0 < number < len(lines) and number - 1 in code and number in code:
        number += 1
    while number > 0 and number - 1 not in code and _is_note(lines[number - 1]):
        number -= 1
    return number


def _with_section(lines: list[str], text: str, place: Place, newline: str) -> tuple[list[str], int]:
    """The lines, with the place's section at the end where there is none of its name, and the line to write behind."""
    if not place.section:
        return lines, _legal_line(text, place.after_line)
    wanted = place.section.casefold()
    same = [line for _, line in find_headings(text) if line.strip(" #\r\n\t").casefold() == wanted]
    if same:
        return lines, _end_of_section(text, _bare(same[0]))
    at = last_line_of_body(text)
    gap = [newline] if at and lines[at - 1].strip() else []
    section = [*gap, f"## {place.section}{newline}"]
    return [*lines[:at], *section, *lines[at:]], at + len(section)


def _insert_item(lines: Sequence[str], after: int, statement: str, label: str, newline: str) -> list[str]:
    """The lines with a statement as a list item behind one of them."""
    before, behind = list(lines[:after]), list(lines[after:])
    while len(before) > 1 and not before[-1].strip():
        behind.insert(0, before.pop())
    mark = _make_mark(before)
    is_below = bool(mark) or not before or not before[-1].strip() or find_depth(before[-1]) > 0
    gap_before = [] if is_below else [newline]
    joins = ITEM.match(next((line for line in behind if line.strip()), ""))
    gap_after = [newline] if behind and behind[0].strip() and not joins else []
    return [*before, *gap_before, *_end_lines(_as_item(statement, mark or "- ", label), newline), *gap_after, *behind]


def _make_mark(before: Sequence[str]) -> str:
    """The mark for an item that follows these lines; empty where they do not end in a list."""
    for line in reversed(before):
        if found := ITEM.match(line):
            mark = f"{int(found['number']) + 1}{found['end']}" if found["number"] else found["mark"]
            return f"{found['indent']}{mark}{found['gap']}"
        if not line.startswith((" ", "\t")) or not line.strip():
            break
    return ""


def _end_lines(lines: Sequence[str], newline: str) -> list[str]:
    """Lines with the file's line end, where they have none."""
    return [line if line.endswith(("\n", "\r")) else line + newline for line in lines]


def _as_item(text: str, mark: str, label: str) -> list[str]:
    own = ITEM.match(text)
    first, *rest = _referring(text[own.end() :] if own else text, label).split("\n")
    return [f"{mark}{first}", *(f"{' ' * len(mark)}{line.strip()}" for line in rest if line.strip())]


def _referring(text: str, label: str) -> str:
    """The statement with the reference to its footnote at its end."""
    text = text.replace("\r\n", "\n").strip()
    gap = "\n\n" if text.endswith(("```", "~~~")) else ""
    return f"{text}{gap}[^{label}]"


def _in_its_line(text: str, place: Place, label: str) -> list[str]:
    """The statement where an older one stood: between what else its lines say, or as the item that it was."""
    old = split_lines(place.old_text)
    item = ITEM.match(old[0]) if old else None
    if not place.kept_before and not place.kept_after:
        return _as_item(text, item[0], label) if item else _referring(text, label).split("\n")
    own = ITEM.match(text) if item else None
    statement = _referring(text[own.end() :] if own else text, label)
    return split_lines(f"{place.kept_before}{statement}{place.kept_after}")


def _replace_lines(lines: Sequence[str], replaces: LineRange, new: Sequence[str], kept: str = "") -> list[str]:
    """The lines with others in the place of some; the footnotes that only those referred to go with them.

    `kept`: what stays of the old lines.
    """
    before, old, behind = lines[: replaces.first - 1], lines[replaces.first - 1 : replaces.last], lines[replaces.last :]
    gone = _orphans([*before, *behind], old, kept)
    remaining = [line for number, line in enumerate(before) if number not in gone]
    return [*remaining, *new, *(line for number, line in enumerate(behind, start=len(before)) if number not in gone)]


def _orphans(lines: Sequence[str], gone: Sequence[str], kept: str) -> set[int]:
    """Which lines define footnotes to which only what is gone of the removed lines referred."""
    names, notes = find_footnotes("".join(gone)).used, find_footnotes("".join(lines))
    still = {*notes.used, *find_footnotes(kept).used}
    return {number for name in names if name not in still for number in notes.defined.get(name, ())}


def _with_footnote(lines: list[str], label: str, note: str, newline: str) -> list[str]:
    """The lines with a footnote ahead of the first with a higher number, else at their end."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    code = code_lines("".join(lines))
    defined = ((number, FOOTNOTE_DEFINITION.match(line)) for number, line in enumerate(lines) if number not in code)
    names = ((number, found[0].strip()[2:-2]) for number, found in defined if found)
    at = next((number for number, name in names if name.isdecimal() and int(name) > int(label)), len(lines))
    note = f"[^{label}]: {note}"
    if at < len(lines):
        return [*lines[:at], note + newline, *lines[at:]]
    is_behind = bool(lines) and (_is_note(lines[-1]) or RULES.match(lines[-1]) is not None)
    gap = [] if is_behind else [newline, RULE + newline]
    return [*lines, *gap, note + newline]


def _with_history(lines: list[str], old_text: str, hunk: Hunk, manner: Manner, newline: str) -> list[str]:
    """The lines with what was replaced at the end of the history section, which is made where there is none."""
    text = "".join(lines)
    last = hunk.evidence[0].time if hunk.evidence else None
    until = local_day(last) if last else manner.today
    bare = re.sub(r"\[\^[^\]\s]+\]", "", " ".join(old_text.split()))
    entry = f"- Until {until.isoformat()}: {ITEM.sub('', bare, count=1).strip()}{newline}"
    if not any(_bare(line) == HISTORY for _, line in find_headings(text)):
        at = last_line_of_body(text)
        return [*lines[:at], newline, HISTORY + newline, newline, entry, *lines[at:]]
    at = _end_of_section(text, HISTORY)
    gap = [newline] if _bare(lines[at - 1]) == HISTORY else []
    return [*lines[:at], *gap, entry, *lines[at:]]
