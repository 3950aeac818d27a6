"""Topics renamed, joined and cut: the texts of layer 1 before, and what they are to be.

Statements, footnotes and code stay as they are written; headings change their level where a topic becomes a section, or
a section a topic. Pure text in and out; who decides and how it is written is `decisions/accept.py`'s.
"""

import datetime as dt
import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dream.decisions.planning import Arrangement, Texts
from dream.judge.filing import make_path
from dream.proposals.placing import RULE, RULES, find_depth, set_change_day
from dream.records import split_words
from dream.topics import HISTORY_HEADINGS
from memory_server.chunking import FOOTNOTE_DEFINITION, chunk_document, code_lines, split_lines
from memory_server.document import Document, Layer, SourcePath
from memory_server.errors import UsageError
from memory_server.layers.footnotes import REFERENCE, find_footnotes
from memory_server.layers.mif import (
    Frontmatter,
    Value,
    new_frontmatter,
    parse_frontmatter,
    set_field,
    valid_frontmatter,
)
from memory_server.layers.topics import bare_heading, first_heading, name_in_words
from parts.arranging.links import Moves, make_anchor, relink_text

MOST_NAMED = 4  # topics from which on they are counted
OF_A_FILE = frozenset({"id", "title", "created", "modified"})  # a section needs none, and its heading is the title


def plan_move(texts: Texts, old: str, new: str, title: str = "") -> Arrangement:
    """A topic under another name, and with another title and heading where one is given."""
    _require_new(texts, new)
    text = relink_text(texts[old], old, new, Moves({old: new}))
    files = {new: _set_title(text, title) if title else text, old: None}
    return _build_arrangement(texts, f"Move {old} to {new}", files, Moves({old: new}), {old: (new,)})


def find_title(text: str, path: str) -> str:
    """The title of a topic with this text."""
    return _parts(text).title(path)


def _set_title(text: str, title: str) -> str:
    """A topic with another title: in its frontmatter, where that names one, and in its first heading."""
    parsed = parse_frontmatter(text)
    lines = split_lines(parsed.body)
    first = next(((number, depth) for number, depth, _ in _headings(lines)), None)
    if first and first[1] == 1:
        lines[first[0]] = f"# {title}\n"
    elif not parsed.text("title"):
        lines = [f"# {title}\n", "\n", *lines]
    text = parsed.block + "".join(lines)
    return set_field(text, "title", title) if parsed.text("title") else text


def plan_merge(texts: Texts, sources: Sequence[str], into: str, today: dt.date) -> Arrangement:
    """Several topics as one, a section each; one of them that gives its name keeps its text and comes first."""
    if len(set(sources)) < 2:
        raise UsageError("one topic is nothing to merge", remedy="Name two or more, and `--into` a name")
    if into not in sources:
        _require_new(texts, into)
    order = [path for path in (into, *sources) if path in sources]
    parts = {path: _parts(texts[path]) for path in dict.fromkeys(order)}
    if into in parts:
        whole = parts.pop(into)
        head = set_change_day(whole.block, today)
    else:
        head, whole = _make_head(name_in_words(SourcePath(into)).capitalize(), next(iter(parts.values())))
    moves = Moves(dict.fromkeys(parts, into))
    whole = _Parts(head, split_lines(relink_text(whole.text, into, into, moves)), dict(whole.notes), whole.fields)
    for path, part in parts.items():
        title = part.title(path)
        body, notes = _separate_labels(_without_title(part.lines, title), part.notes, whole.notes)
        section = "".join(_shift_headings(body, 1))
        lines = split_lines(relink_text(section, path, into, moves))
        whole.lines = [*_strip_end(whole.lines), "\n", f"## {title}\n", "\n", *_strip_both_ends(lines)]
        whole.notes |= notes
    files: dict[str, str | None] = {into: head + _body(whole.lines, whole.notes)}
    files |= dict.fromkeys(parts)
    homes = dict.fromkeys(sources, (into,))
    done = _build_arrangement(texts, f"Merge {' and '.join(dict.fromkeys(sources))} into {into}", files, moves, homes)
    fields = parse_frontmatter(head).fields
    return replace(
        done,
        left_out=tuple(line for path, part in parts.items() for line in _list_lost_fields(path, part, fields)),
    )


def split(texts: Texts, path: str, today: dt.date, heading: str = "", into: str = "") -> Arrangement:
    """The sections of a topic as topics of their own, or the one section with this heading.

    What stands before the first of them stays; where nothing does, the old topic goes.
    """
    whole = _parts(texts[path])
    sections = [one for one in whole.sections() if not heading or one.heading.casefold() == heading.casefold()]
    if not sections:
        known = ", ".join(one.heading for one in whole.sections()) or "it has none"
        what = f"{path} has no section {heading!r}" if heading else f"{path} has no sections"
        raise UsageError(what, remedy=f"Its headings: {known}")
    return _split(texts, path, whole, sections, today, into=into)


def plan_regrouping(
    texts: Texts, path: str, today: dt.date, names: Mapping[tuple[str, ...], str], summaries: Mapping[str, str]
) -> Arrangement:
    """The statements of a topic, by their words, under the names of new topics; what has none stays.

    Each goes whole: an item with what is set in below it, a paragraph with the code or table behind it, under the
    heading that it had. What is no longer true stays where it is.
    """
    whole = _parts(texts[path])
    by_path = dict[str, str]()  # names that come to one path are one topic
    free = {
        words: by_path.setdefault(make_path(name), name)
        for words, name in names.items()
        if _make_sibling_path(path, make_path(name)) not in texts
    }
    groups, stays = _group_lines(whole, free)
    if not groups:
        raise UsageError("the reader leaves the topic as it is", remedy="Cut it by its sections: --heading X")
    whole.lines, sections = _without_empty_sections(stays), []
    for name, lines in groups.items():
        first = len(whole.lines)
        whole.lines += [f"## {name}\n", *lines]
        sections.append(_Section(name, 2, first, len(whole.lines), ()))
    return _split(texts, path, whole, sections, today, summaries=summaries)


def _group_lines(whole: "_Parts", names: Mapping[tuple[str, ...], str]) -> tuple[dict[str, list[str]], list[str]]:
    """The lines of a topic that go under each name, with the headings that they had, and those that stay."""
    groups: dict[str, list[str]] = {}
    stays, headings, name = list[str](), list[str](), ""
    under: dict[str, str] = {}  # the heading that a group was given last
    for block in _blocks(whole):
        if block.is_rest:
            groups.get(name, stays).extend([*block.above, *block.lines])
            continue
        for line in filter(find_depth, block.above):
            headings = [*(one for one in headings if find_depth(one) < find_depth(line)), line]
        stays += block.above
        texts = [bare_heading(line.strip().lstrip("#")) for line in headings]
        name = "" if HISTORY_HEADINGS & {text.casefold() for text in texts} else names.get(block.words, "")
        group = groups.setdefault(name, []) if name else stays
        section = texts[-1] if name and find_depth(headings[-1] if headings else "") > 1 else ""
        if section and under.get(name) != section:
            group += ["\n", f"### {section}\n"]
            under[name] = section
        group += block.lines
    return groups, stays


@dataclass(frozen=True, slots=True)
class _TopicBlock:
    """The lines of a statement, or of a part of a long one."""

    above: list[str]  # headings and blank lines
    lines: list[str]
    words: tuple[str, ...]
    is_rest: bool  # whether it goes on with the one before


def _blocks(whole: "_Parts") -> Iterator[_TopicBlock]:
    """What a topic says, statement by statement."""
    code, lines, at = code_lines(whole.text), whole.lines, 0
    for chunk in chunk_document(Document(SourcePath("topics/x.md"), Layer.TOPIC, "", body=whole.text)):
        end = chunk.lines.last
        numbers = (
            number
            for number in range(at, end)
            if number in code or not (find_depth(lines[number]) or lines[number].isspace())
        )
        if end > at:  # else it is the end of a long line
            first = next(numbers, end)
            is_rest = first < end and (first in code or lines[first].startswith((" ", "\t")))
            yield _TopicBlock(lines[at:first], lines[first:end], tuple(split_words(chunk.searchable)), is_rest)
            at = end


def _make_sibling_path(path: str, name: str) -> str:
    """The path of a topic of this name in the folder of another."""
    return posixpath.join(posixpath.dirname(path), posixpath.basename(name))


def _without_empty_sections(lines: Sequence[str]) -> list[str]:
    """The lines without the headings, save the first, below which nothing stands any more."""
    depths = {number: depth for number, depth, _ in _headings(lines)}
    remaining, below = list[str](), 0  # how deep what stands below belongs: to headings above that depth
    is_gone = False  # whether a heading was left out just below
    for number, line in reversed(list(enumerate(lines))):
        depth = depths.get(number, 7)
        if depth < 7 and depth >= below and number != min(depths):
            is_gone = True
        elif line.strip() or not is_gone:  # nor the gap above one
            remaining.append(line)
            below, is_gone = (depth, False) if line.strip() else (below, is_gone)
    return remaining[::-1]


def _split(
    texts: Texts,
    path: str,
    whole: "_Parts",
    sections: "Sequence[_Section]",
    today: dt.date,
    *,
    into: str = "",
    summaries: Mapping[str, str] = MappingProxyType({}),
) -> Arrangement:
    names = [into or _make_sibling_path(path, one.path) for one in sections]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise UsageError(f"two sections would be {name}", remedy="Take one at a time: --heading X --into NAME")
        _require_new(texts, name)
    anchors = {(path, anchor): name for one, name in zip(sections, names, strict=True) for anchor in one.anchors}
    taken = {number for one in sections for number in range(one.first, one.end)}
    left = [line for number, line in enumerate(whole.lines) if number not in taken]
    is_empty = not any(line.strip() and not find_depth(line) for line in left)
    moves = Moves({path: names[0]} if is_empty else {}, anchors)
    files: dict[str, str | None] = {}
    labels = set(whole.notes)
    for one, name in zip(sections, names, strict=True):
        head, founded = _make_head(one.heading, whole, summaries.get(one.heading, ""))
        lines = [*founded.lines, *_shift_headings(whole.lines[one.first + 1 : one.end], 1 - one.depth)]
        notes = _select_notes(lines, whole.notes)
        files[name] = head + relink_text(_body(lines, notes), path, name, moves)
        labels -= set(notes)
    labels |= set(_select_notes(left, whole.notes))
    body = _body(left, {label: note for label, note in whole.notes.items() if label in labels})
    head = set_change_day(whole.block, today)
    files[path] = None if is_empty else head + relink_text(body, path, path, moves)
    homes = {path: (*([] if is_empty else [path]), *names)}
    made = " and ".join(names) if len(names) < MOST_NAMED else f"{len(names)} topics"
    return _build_arrangement(texts, f"Split {made} off {path}", files, moves, homes)


def plan_retirement(path: str) -> Arrangement:
    """A topic that goes; links to it stay, and the report names them."""
    return Arrangement(f"Retire {path}", {path: None}, {path: ()})


def _build_arrangement(
    texts: Texts, what: str, files: Mapping[str, str | None], moves: Moves, homes: Mapping[str, tuple[str, ...]]
) -> Arrangement:
    """With the links of all other files behind it."""
    others = {path: relink_text(text, path, path, moves) for path, text in texts.items() if path not in files}
    changed = {path: text for path, text in others.items() if text != texts[path]}
    return Arrangement(what, {**files, **changed}, homes)


def _require_new(texts: Texts, path: str) -> None:
    if path in texts:
        raise UsageError(f"{path} is there already", remedy="Choose another name, or merge the topics")


# -- a topic in its parts -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Section:
    """The lines of a section, from its heading to the next of its depth; counted from 0 in the body."""

    heading: str
    depth: int
    first: int
    end: int
    anchors: tuple[str, ...]  # of its own heading and those below it

    @property
    def path(self) -> str:
        return make_path(self.heading)


@dataclass(slots=True)
class _Parts:
    """A topic: its frontmatter, its body without footnotes, and these by their labels."""

    block: str
    lines: list[str]
    notes: dict[str, str]
    fields: Frontmatter

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def title(self, path: str) -> str:
        return self.fields.text("title") or first_heading(self.text) or name_in_words(SourcePath(path))

    def sections(self) -> list[_Section]:
        """Its sections of the highest level below its own heading; a history of what was so is none."""
        found = list(_headings(self.lines))
        below = found[1:] if found and found[0][1] == 1 else found
        depth = min((depth for _, depth, _ in below), default=0)
        starts = [one for one in below if one[1] == depth]
        ends = [*(number for number, _, _ in starts[1:]), len(self.lines)][: len(starts)]
        made = []
        for (first, _, heading), end in zip(starts, ends, strict=True):
            anchors = tuple(make_anchor(text) for number, _, text in below if first <= number < end)
            made.append(_Section(heading, depth, first, end, anchors))
        return [one for one in made if one.heading.casefold() not in HISTORY_HEADINGS]


def _parts(text: str) -> _Parts:
    parsed = valid_frontmatter(text)
    code, label = code_lines(parsed.body), ""
    body = parsed.body.rstrip("\r\n")
    if len(split_lines(body)) in code_lines(f"{body}\nx"):
        raise UsageError("a code block is never closed", remedy="Close it")
    lines: list[str] = []
    notes: dict[str, str] = {}
    for number, line in enumerate(split_lines(parsed.body)):
        whole = line if line.endswith(("\n", "\r")) else f"{line}\n"
        definition = FOOTNOTE_DEFINITION.match(line) if number not in code else None
        if definition:
            label = definition[0].strip()[2:-2]
        elif not (label and line.strip() and line.startswith(("    ", "\t"))):  # such a line goes on with the note
            label = ""
        if label:
            notes[label] = notes.get(label, "") + whole
        else:
            lines.append(whole)
    lines = _strip_end(lines)
    if notes and lines and RULES.match(lines[-1]) and len(lines) - 1 not in code_lines("".join(lines)):
        lines = _strip_end(lines[:-1])
    return _Parts(parsed.block, lines, notes, parsed)


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Line, depth and text of each heading outside code."""
    code = code_lines("".join(lines))
    for number, line in enumerate(lines):
        if number not in code and (depth := find_depth(line)):
            yield number, depth, bare_heading(line.strip().lstrip("#"))


def _make_head(title: str, source: _Parts, summary: str = "") -> tuple[str, _Parts]:
    """The head and the heading of a topic made of others: whose it is."""
    lines = [f"# {title}\n"]
    fields = {key: source.fields.text(key) for key in ("project", "type")} | {"summary": summary}
    fields = {key: value for key, value in fields.items() if value}
    head = new_frontmatter(fields) if fields else ""
    return head, _Parts(head, lines, {}, source.fields)


def _list_lost_fields(path: str, part: _Parts, remaining: Mapping[str, Value]) -> Iterator[str]:
    """The fields of a topic that its new file does not say: the file's own may hold for more than a section."""
    for key, value in part.fields.fields.items():
        if key not in OF_A_FILE and remaining.get(key) != value:
            yield f"{path} {key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _without_title(lines: Sequence[str], title: str) -> list[str]:
    """The lines without a first heading that says the title."""
    first = next(iter(_headings(lines)), None)
    if first is None or first[1] != 1 or first[2] != title:
        return list(lines)
    return [*lines[: first[0]], *lines[first[0] + 1 :]]


def _shift_headings(lines: Sequence[str], by: int) -> list[str]:
    """The lines with their headings so many levels deeper, six at most."""
    depths = {number: depth for number, depth, _ in _headings(lines)}
    return [
        re.sub(r"#+", "#" * max(1, min(6, depths[number] + by)), line, count=1) if number in depths else line
        for number, line in enumerate(lines)
    ]


def _separate_labels(
    lines: list[str], notes: Mapping[str, str], taken: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Lines and footnotes under labels that stand for nothing else yet."""
    labels = dict[str, str]()
    for label in notes:
        numbers = range(1, 1_000)
        names = (label, *(map(str, numbers) if label.isdecimal() else (f"{label}-{number}" for number in numbers[1:])))
        free = (name for name in names if taken.get(name, notes[label]) == notes[label])
        used = {*notes, *labels.values()}
        labels[label] = next(name for name in free if name == label or name not in used)
    code = code_lines("".join(lines))

    def rename_labels(text: str) -> str:
        return REFERENCE.sub(lambda match: f"[^{labels.get(match[1], match[1])}]", text)

    renamed = [line if number in code else rename_labels(line) for number, line in enumerate(lines)]
    return renamed, {labels[label]: rename_labels(note) for label, note in notes.items()}


def _select_notes(lines: Sequence[str], notes: Mapping[str, str]) -> dict[str, str]:
    used = find_footnotes("".join(lines)).used
    return {label: note for label, note in notes.items() if label in used}


def _strip_end(lines: Sequence[str]) -> list[str]:
    """Without blank lines at the end."""
    return list(lines[: max((number for number, line in enumerate(lines, start=1) if line.strip()), default=0)])


def _strip_both_ends(lines: Sequence[str]) -> list[str]:
    """Without blank lines at both ends."""
    return _strip_end(lines[next((number for number, line in enumerate(lines) if line.strip()), 0) :])


def _body(lines: Sequence[str], notes: Mapping[str, str]) -> str:
    """Lines with footnotes behind them, and a rule between."""
    return "".join([*_strip_end(lines), *(["\n", f"{RULE}\n", *notes.values()] if notes else [])])
