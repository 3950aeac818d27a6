"""Writes one statement into the text of a file: where it belongs, in the manner of its neighbours, with its footnote.

Pure text in and out. `anchored` finds the place again after the file has changed; `placed` writes. Frontmatter stays
true: `modified` is the day of the change, and a new file says where it comes from.
"""

import datetime as dt
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crawler.quotes import Quote
from crawler.transcripts.turns import Role
from dream.records import Hunk, Kind, Place, Words, Written, hash_of
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
    text = text if not text or text.endswith(("\n", "\r")) else text + newline
    lines, label = split_lines(text), label_of(hunk, text)
    if place.replaces is not None:
        lines = _replaced(lines, place.replaces, _ended(_in_its_line(hunk.text, place, label), newline))
    else:
        lines = _inserted(lines, _legal_line(text, place.after_line), hunk, label, newline)
    lines = _with_footnote(lines, f"[^{label}]: {provenance_of(hunk)}", newline)
    if manner.keeps_history and place.replaces is not None:
        lines = _with_history(lines, place.old_text, hunk, manner, newline)
    return dated("".join(lines), manner.today)


def dated(text: str, day: dt.date) -> str:
    """The text with the day of its change in its frontmatter, where it has one."""
    return set_field(text, "modified", day.isoformat()) if parse_frontmatter(text).block else text


def new_file(hunk: Hunk, place: Place, manner: Manner) -> str:
    """A topic with its frontmatter and heading, and nothing else yet."""
    title = place.title or re.sub(r"[-_]+", " ", place.target.rpartition("/")[2].removesuffix(".md")).capitalize()
    candidate, day = hunk.update.candidate, manner.today.isoformat()
    project, filed = candidate.project.strip(), candidate.metadata
    fields = {
        "id": str(uuid.uuid5(NAMESPACE, f"{place.target} {hunk.id}")),
        "type": filed.type or ("procedural" if place.target == "lessons.md" else "semantic"),
        "title": title,
        "created": day,
        "modified": day,
    }
    more = {"project": project, "namespace": filed.namespace, "tags": filed.tags}
    head = new_frontmatter(fields | {key: value for key, value in more.items() if value})
    inferred = [one for one in candidate.inferred if one not in filed.citations]  # those are marked where they stand
    if inferred:
        head = set_field(head, "extensions.oneiros.agent_inferred", ", ".join(inferred))
    head = set_field(head, "provenance.sourceType", _source_type(hunk.evidence))
    return set_field(head, "provenance.trustLevel", "verified") + f"\n# {title}\n"


def _source_type(evidence: Sequence[Words]) -> str:
    if any(isinstance(words, Written) for words in evidence):
        return "external_import"
    said_by_person = all(words.role is Role.PERSON for words in evidence if isinstance(words, Quote))
    return "user_explicit" if said_by_person else "agent_inferred"


def provenance_of(hunk: Hunk) -> str:
    """What the footnote says: ids, places, dates and what is cited, never words."""
    parts, project = [], hunk.update.candidate.project
    for words in hunk.evidence:
        day = f", {words.time.date().isoformat()}" if words.time else ""
        if isinstance(words, Quote):
            place = f"{words.role} in session {shown_line(words.session_id)}, entry {shown_line(words.entry)}"
        else:
            place = shown_line(words.place_in(project))
        parts.append(f"{place}{day}")
    for one in hunk.update.candidate.metadata.citations:
        mark = " (agent_inferred)" if one in hunk.update.candidate.inferred else ""
        parts.append(f"cites {shown_line(one)}{mark}")
    if hunk.text != hunk.update.candidate.text:
        parts.append("reworded in a review")
    return "; ".join(parts) or "written in a review"


def label_of(hunk: Hunk, text: str) -> str:
    """The name of the hunk's footnote, new to the text."""
    taken = find_footnotes(text).defined
    names = (*(hunk.id[:chars] for chars in (8, 10, 12)), *(f"{hunk.id}-{number}" for number in range(2, 1_000)))
    return next(label for name in names if (label := f"d{name}") not in taken)


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
    told = (
        n for n in range(len(lines), 0, -1) if lines[n - 1].strip() and (n - 1 in code or not _is_note(lines[n - 1]))
    )
    return next(told, len(lines))


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
    lines, code = split_lines(text), code_lines(text)
    starts = [number for number, line in enumerate(lines) if number not in code and heading and _bare(line) == heading]
    if not starts:
        return last_line_of_body(text)
    depth, end = depth_of(heading) or 6, starts[0]
    for number in range(starts[0] + 1, len(lines)):
        if number not in code and 0 < depth_of(lines[number]) <= depth:
            break
        if lines[number].strip() and not _is_note(lines[number]):
            end = number
    return end + 1


def depth_of(line: str) -> int:
    """The level of a heading line; 0 for any other."""
    found = HEADING.match(line)
    return len(found["marks"]) if found else 0


def _legal_line(text: str, wanted: int) -> int:
    """The line to write behind: never inside the frontmatter, a code block or the file's footnotes."""
    lines, code = split_lines(text), code_lines(text)
    number = min(max(wanted, parse_frontmatter(text).body_line - 1), len(lines))
    while 0 < number < len(lines) and number - 1 in code and number in code:
        number += 1
    while number > 0 and number - 1 not in code and _is_note(lines[number - 1]):
        number -= 1
    return number


def _inserted(lines: Sequence[str], after: int, hunk: Hunk, label: str, newline: str) -> list[str]:
    before, behind = list(lines[:after]), list(lines[after:])
    while len(before) > 1 and not before[-1].strip():
        behind.insert(0, before.pop())
    if mark := _mark_behind(before):
        return [*before, *_ended(_as_item(hunk.text, mark, label), newline), *behind]
    is_item = hunk.update.candidate.kind is Kind.LESSON or ITEM.match(hunk.text) is not None
    new = _as_item(hunk.text, "- ", label) if is_item else _referring(hunk.text, label).split("\n")
    joins = is_item and ITEM.match(next((line for line in behind if line.strip()), ""))
    gap_before = [newline] if before and before[-1].strip() else []
    gap_after = [newline] if behind and behind[0].strip() and not joins else []
    return [*before, *gap_before, *_ended(new, newline), *gap_after, *behind]


def _mark_behind(before: Sequence[str]) -> str:
    """The mark for an item that follows these lines; empty where they do not end in a list."""
    for line in reversed(before):
        if found := ITEM.match(line):
            mark = f"{int(found['number']) + 1}{found['end']}" if found["number"] else found["mark"]
            return f"{found['indent']}{mark}{found['gap']}"
        if not line.startswith((" ", "\t")) or not line.strip():
            break
    return ""


def _ended(lines: Sequence[str], newline: str) -> list[str]:
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
    told = _referring(text[own.end() :] if own else text, label)
    return split_lines(f"{place.kept_before}{told}{place.kept_after}")


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


def _with_footnote(lines: list[str], note: str, newline: str) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    gap = [] if lines and _is_note(lines[-1]) else [newline]
    return [*lines, *gap, note + newline]


def _with_history(lines: list[str], old_text: str, hunk: Hunk, manner: Manner, newline: str) -> list[str]:
    """The lines with what was replaced at the end of the history section, which is made where there is none."""
    text = "".join(lines)
    last = hunk.evidence[0].time if hunk.evidence else None
    until = last.date() if last else manner.today
    bare = re.sub(r"\[\^[^\]\s]+\]", "", " ".join(old_text.split()))
    entry = f"- Until {until.isoformat()}: {ITEM.sub('', bare, count=1).strip()}{newline}"
    code = code_lines(text)
    if not any(_bare(line) == HISTORY for number, line in enumerate(lines) if number not in code):
        at = last_line_of_body(text)
        return [*lines[:at], newline, HISTORY + newline, newline, entry, *lines[at:]]
    at = _end_of_section(text, HISTORY)
    gap = [newline] if _bare(lines[at - 1]) == HISTORY else []
    return [*lines[:at], *gap, entry, *lines[at:]]
