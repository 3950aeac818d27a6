"""An older topic in today's form: statements as list items, numbered footnotes of one line, a frontmatter without what
the program knows by itself, and its file in the folder of its project.

Pure text in and out. No word of a statement changes; what a person wrote otherwise (paragraphs without a footnote,
tables, code, fields of their own) stays as it is.
"""

import re
from collections.abc import Mapping, Sequence

from crawler.transcripts.turns import Role
from dream.decisions.planning import Arrangement, Texts
from dream.judge.filing import make_path, make_slug
from dream.proposals.placing import RULE, RULES, is_list_item
from dream.statements.provenance import AGREED, CLAUDE, EARLIER_SOURCE, YOU, read_note, read_notes
from memory_server.chunking import FOOTNOTE_DEFINITION, code_lines, split_lines
from memory_server.errors import UsageError
from memory_server.layers.footnotes import REFERENCE, find_footnotes
from memory_server.layers.mif import Frontmatter, new_frontmatter, parse_frontmatter, set_field, valid_frontmatter
from memory_server.layers.sessions import cut_id8
from memory_server.layers.topics import first_heading
from parts.arranging.arrangement import plan_move

KNOWN = {
    "id": None,
    "provenance": None,
    "created": None,
    "modified": None,
    "type": "semantic",
}  # that say nothing; None: any
TEXT_END = re.compile(r"(?:\[\^[^\]\s]+\])+\s*$")
NO_PROSE = re.compile(r"\s|#|\||>|<|```|~~~|\[\^|[-*+]\s|\d+[.)]\s")


def tidy_all(texts: Texts, paths: Sequence[str], *, has_folders: bool) -> Arrangement:
    """These topics in today's form. Raises UsageError where all of them have it."""
    files: dict[str, str | None] = {}
    homes: dict[str, tuple[str, ...]] = {}
    now = dict(texts)
    for path in paths:
        text = tidy(now[path], is_named=_is_named(now, path))
        target = _home(path, text) if has_folders else path
        changed: Mapping[str, str | None] = {path: text}
        if target != path and target not in now:
            changed = plan_move({**now, path: text}, path, target).files
            homes[path] = (target,)
        for name, new in changed.items():
            if new is None:
                del now[name]
            else:
                now[name] = new
            if new != texts.get(name):
                files[name] = new
    if not files:
        raise UsageError("these topics have today's form already", remedy="`oneiros topics` lists them")
    count = len([path for path in paths if path in files or path in homes])
    return Arrangement(f"Tidy {count} topic{'s' * (count != 1)}", files, homes)


def with_summaries(texts: Texts, summaries: Mapping[str, str]) -> Arrangement:
    """These topics with what a reader says that they cover. Raises UsageError where that is nothing."""
    files = {path: _with_summary(texts[path], summary) for path, summary in summaries.items() if summary}
    if not files:
        raise UsageError(
            "the model sums up none of these topics", remedy="Write `summary:` by hand, or try again later"
        )
    return Arrangement(f"Sum up {len(files)} topic{'s' * (len(files) != 1)}", dict(files), {})


def _with_summary(text: str, summary: str) -> str:
    has_head = bool(parse_frontmatter(text).block)
    return set_field(text, "summary", summary) if has_head else new_frontmatter({"summary": summary}) + text


def tidy(text: str, *, is_named: bool = False) -> str:
    """One topic. `is_named`: something refers to it by the id of its frontmatter, which stays then."""
    parsed = valid_frontmatter(text)
    notes = read_notes(text)
    body = _number_notes(_as_items(_without_notes(parsed.body)), notes)
    return _short_head(parsed, is_named=is_named) + body.lstrip("\r\n")


def _short_head(parsed: Frontmatter, *, is_named: bool) -> str:
    """The frontmatter without the fields that the program knows by itself; empty where nothing is left."""
    is_dated = any(source.day for note in read_notes(parsed.body).values() for source in read_note(note))
    known = {"provenance": None} if is_named else KNOWN
    drop = {key for key, value in known.items() if value is None or parsed.text(key) == value}
    drop |= {"title"} if parsed.text("title") == first_heading(parsed.body) else set()
    drop -= set() if is_dated else {"modified"}  # nothing else would tell how old it is
    lines = split_lines(parsed.block)
    starts = {parsed.lines[key]: key for key in parsed.fields if key in parsed.lines}
    remaining, key = list[str](), ""
    for number, line in enumerate(lines[1:-1], start=2):
        key = starts.get(number, key)
        if key not in drop:
            remaining.append(line)
    return "".join([lines[0], *remaining, lines[-1]]) if remaining else ""


def _without_notes(body: str) -> list[str]:
    """The lines of a body without footnotes, the rule above them and blank lines at the end."""
    code = code_lines(body)
    lines = [
        line for number, line in enumerate(split_lines(body)) if number in code or not FOOTNOTE_DEFINITION.match(line)
    ]
    while lines and (not lines[-1].strip() or RULES.match(lines[-1])):
        lines.pop()
    return lines


def _as_items(lines: Sequence[str]) -> list[str]:
    """The lines with each paragraph that ends in a footnote as a list item, and no blank line between items."""
    code, made = code_lines("".join(lines)), list[str]()
    at = 0
    while at < len(lines):
        end = at
        begins = not at or not lines[at - 1].strip() or lines[at - 1].startswith("#")  # else it goes on with an item
        while begins and end < len(lines) and end not in code and lines[end].strip() and not NO_PROSE.match(lines[end]):
            end += 1
        block = lines[at:end]
        if block and TEXT_END.search(block[-1]):
            made.append("- " + block[0])
            made += ["  " + line for line in block[1:]]
            at = end
        else:
            made += lines[at : max(end, at + 1)]
            at = max(end, at + 1)
    tidied = list[str]()
    for number, line in enumerate(made):
        below = next((one for one in made[number + 1 :] if one.strip()), "")
        above = next((one for one in reversed(tidied) if one.strip()), "")
        if line.strip() or not (is_list_item(below) and (is_list_item(above) or above.startswith(("  ", "#")))):
            tidied.append(line)
    return tidied


def _number_notes(lines: Sequence[str], notes: Mapping[str, str]) -> str:
    """The lines with footnotes numbered in the order of their use, and these in one line each behind a rule."""
    text = "".join(lines)
    order = [label for label in find_footnotes(text).used if label in notes]
    number = {label: str(place) for place, label in enumerate(order, start=1)}
    code = code_lines(text)

    def rename_labels(line: str) -> str:
        return REFERENCE.sub(lambda match: f"[^{number.get(match[1], match[1])}]", line)

    numbered = [line if at in code else rename_labels(line) for at, line in enumerate(lines)]
    ended = "".join(numbered).rstrip("\r\n") + "\n"
    behind = [f"[^{number[label]}]: {shorten_note(notes[label])}\n" for label in order]
    return ended + (f"\n{RULE}\n" + "".join(behind) if behind else "")


def _home(path: str, text: str) -> str:
    """Where a topic lies: in the folder of its project, where it has one."""
    project = parse_frontmatter(text).text("project")
    folder, _, name = path.removeprefix("topics/").rpartition("/")
    if not project or folder.partition("/")[0] == make_slug(project):
        return path
    return str(make_path(name, project))


def _is_named(texts: Texts, path: str) -> bool:
    """Whether another file refers to a topic by its id."""
    name = parse_frontmatter(texts[path]).text("id")
    return bool(name) and any(name in text for other, text in texts.items() if other != path)


def shorten_note(note: str) -> str:
    """A footnote of before in today's form; what is no source of a session stays as it stands."""
    found = list(EARLIER_SOURCE.finditer(note))
    if not found:
        return note
    is_agreed = found[0]["role"] == Role.ASSISTANT and any(match["role"] == Role.PERSON for match in found)
    sources = []
    for match in found:
        who = AGREED if is_agreed else YOU if match["role"] == Role.PERSON else CLAUDE
        day = f", {match['day']}" if match["day"] else ""
        sources.append(f"{who}{day}, session {cut_id8(match['session'])}")
    rest = (part.strip() for part in EARLIER_SOURCE.sub("", note).split(";"))
    return "; ".join([*dict.fromkeys(sources), *filter(None, rest)])
