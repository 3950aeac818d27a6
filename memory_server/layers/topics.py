"""What sources a memory root has, and how one is read into a `Document`.

A topic is any Markdown file below `topics/`, with or without frontmatter. Proposals, reports and the blackboard are
never sources. A file that cannot be read is a `Problem`, never the end of the run.
"""

import datetime as dt
import os
import posixpath
import re
import time
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from memory_server.chunking import code_lines, split_lines, without_comments
from memory_server.completeness import SkipKind
from memory_server.document import ALWAYS, CLAUDE, Document, Interval, Layer, SourcePath
from memory_server.errors import ContentError, Problem
from memory_server.language.sentences import first_sentence
from memory_server.layers.mif import Frontmatter, Value, parse_date, parse_frontmatter
from memory_server.layers.notes import older_notes
from memory_server.layers.sessions import find_superseded_files
from memory_server.machine.files import is_plain_file
from memory_server.root.paths import MemoryRoot

ONTOLOGY = SourcePath("ontology.yaml")  # no source, but of layer 1 as they are: it is approved like them
MAX_SUMMARY_CHARS = 500  # of MIF
MAX_HEAD_CHARS = 5_000  # of a frontmatter that is searched as words of its document
MAX_SOURCE_BYTES = 4_000_000  # a larger file is no topic; it is reported and left out
CACHED_HEADS = 50_000  # heads of topics that are kept, one a file
YOUNG_SECONDS = 2.0  # a file changed within this time may change again with the same size and time
SUMMARY_CHARS = 120
UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})")  # of a heading in two lines
IN_TWO_LINES = re.compile(rf"\n{UNDERLINE.pattern}\Z")
PLAIN_LINE = re.compile(r" {0,3}(?![-*+>|<%#]|\d+[.)])\S")  # that may be one
HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?=\S)")
MERGE_MARK = re.compile(r"(?:<{7}|>{7}|\|{7}) ")  # of git
FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$", re.DOTALL)
LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
NOTED_DAY = re.compile(
    r"^ {0,3}\[\^[^\]\s]+\]:.*?(?<![\w-])(\d{4}-\d{2}-\d{2})(?![\w-])", re.MULTILINE
)  # of a footnote
EXCHANGE = ".exchange.txt"  # the ending of what an episode was made from: it lies beside that and is no source
A_LINK = (
    "a symlink is not followed, since it could bring in a file from outside the memory",
    "Put the file itself in its place",
    SkipKind.SYMLINK,
)
RENAME = ("Rename or move it", SkipKind.FILE_IGNORED)
DATE_IN_NAME = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")


# Those of some files of layer 1 that nobody has answered for as they stand. Where title and summary alone differ from
# what was approved, each with that text, in as many lines: it is told instead. The others are left out.
Unapproved = Callable[[Collection[SourcePath]], Mapping[SourcePath, str]]
LEFT_OUT = ""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that the indices are built from."""

    path: SourcePath
    layer: Layer


@dataclass(frozen=True, slots=True)
class TopicHead:
    """One topic in a list."""

    name: str
    title: str
    date: dt.date | None
    summary: str  # what the frontmatter says, else its first sentence
    path: SourcePath
    interval: Interval = ALWAYS
    project: str = ""
    keep: bool = False  # the person wants it at every session start
    namespace: str = ""  # words joined by /


def find_sources(root: MemoryRoot, skipped: list[Problem] | None = None) -> Iterator[SourceFile]:
    """All sources below a memory root, in the order of their paths, layer by layer.

    Of a compressed session only the newest revision is one, of a note the newest state. To `skipped` is added, at the
    end, what lies among them and is none; of references nothing, which are copies of our own.
    """
    left_out: list[Problem] = []
    for page in (root.index_page, root.lessons):
        if is_plain_file(page):
            yield SourceFile(root.relative(page), Layer.TOPIC)
    for folder, layer in (
        (root.topics, Layer.TOPIC),
        (root.sessions, Layer.SESSION),
        (root.episodes, Layer.SESSION),
        (root.references, Layer.REFERENCE),
        (root.notes, Layer.REFERENCE),
    ):
        files, place = list(_markdown_names(folder, left_out)), root.relative(folder)
        old = set[str]()
        if folder == root.sessions:
            old = {str(file) for file in find_superseded_files(map(Path, files))}
        elif folder == root.notes:
            old = older_notes(files)
        for file in files:
            if file not in old:  # texts, since paths take ten times as long, and every run asks for all
                below = file[len(str(folder)) :].replace(os.sep, "/")
                yield SourceFile(SourcePath(place + below), layer)
    if skipped is not None:
        links = [page for page in (root.index_page, root.lessons, root.ontology) if page.is_symlink()]
        left_out += [Problem(str(page), 1, *A_LINK) for page in links]
        here = (one for one in left_out if not Path(one.path).is_relative_to(root.derived_folder))
        skipped += [replace(one, path=_escape_path(root, one.path)) for one in here]


def _escape_path(root: MemoryRoot, file: str) -> str:
    return root.relative(Path(file)).encode("utf-8", "backslashreplace").decode("utf-8")


def markdown_files(folder: Path) -> Iterator[Path]:
    """The Markdown files below a folder, sorted; hidden ones, editors' temporary ones and symlinks are left out.

    A symlink could bring a file from outside the memory to rank 1. A name that is not UTF-8 could not be written to
    the ledger. `validate` reports both.
    """
    return map(Path, _markdown_names(folder, []))


def _markdown_names(folder: Path, skipped: list[Problem]) -> Iterator[str]:
    if folder.is_symlink():
        skipped.append(Problem(str(folder), 1, *A_LINK))
    elif folder.exists():
        yield from _list_files(str(folder), skipped)


def _list_files(folder: str, skipped: list[Problem]) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:  # which tells links and folders apart without asking for each
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        what = f"the folder cannot be read ({error.strerror})"
        skipped.append(Problem(folder, 1, what, "Check its rights", SkipKind.UNREADABLE))
        return
    folders = []
    for entry in entries:
        if entry.name.startswith(".") or (is_editors_file(entry.name) and not entry.is_dir()):
            continue
        if entry.is_symlink():
            skipped.append(Problem(entry.path, 1, *A_LINK))
        elif not is_utf8(entry.name):
            skipped.append(Problem(entry.path, 1, "its name is not UTF-8", *RENAME))
        elif entry.is_dir():
            folders.append(entry.path)
        elif not entry.is_file():
            skipped.append(Problem(entry.path, 1, "it is no ordinary file", *RENAME))
        elif entry.name.endswith(".md"):
            yield entry.path
        elif not entry.name.endswith(EXCHANGE):
            skipped.append(Problem(entry.path, 1, "only files that end in .md are read here", *RENAME))
    for below in folders:
        yield from _list_files(below, skipped)


def is_editors_file(name: str) -> bool:
    """Whether a file is hidden, or what an editor leaves beside the one it edits."""
    return name.startswith((".", "#")) or name.endswith("~")


def is_utf8(name: str) -> bool:
    """Whether a name on the disk is text; Python stands in half surrogates for other bytes."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_text(file: Path) -> str:
    """A source's text, line breaks as they are. Raises ContentError where it is gone, too large or not UTF-8."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ContentError(f"the file cannot be read ({error.strerror})", line=1, remedy="Check its rights") from error
    if len(raw) > MAX_SOURCE_BYTES:
        raise ContentError(
            f"the file has {len(raw):,} bytes, the limit is {MAX_SOURCE_BYTES:,}", line=1, remedy="Split it"
        )
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise ContentError("the file is UTF-16 text", line=1, remedy="Save it as UTF-8 text")
    if b"\0" in raw:
        raise ContentError(
            "the file holds NUL bytes", line=1 + raw[: raw.index(b"\0")].count(b"\n"), remedy="Save it as UTF-8 text"
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + raw[: error.start].count(b"\n")
        raise ContentError("the file is not UTF-8 text", line=line, remedy="Save it as UTF-8") from error


def topic_heads(root: MemoryRoot) -> list[TopicHead]:
    """The head of every topic and of the lessons, by name, the lessons last. The index page is not one of them."""
    sources = takewhile(lambda source: source.layer is Layer.TOPIC, find_sources(root))  # they come first
    heads = [topic_head(root, source) for source in sources if source.path != "MEMORY.md"]
    return sorted(heads, key=by_name)


def by_name(head: TopicHead) -> tuple[bool, str]:
    """Orders topics by name, the lessons last."""
    return head.name == "lessons", head.name


def topic_head(root: MemoryRoot, source: SourceFile) -> TopicHead:
    """What a list says of one topic; of a file that cannot be read, why.

    A head is kept with the times of its file, since all are wanted before each index run; not of one that was saved
    just now, which may change within the clock's grain.
    """
    file = f"{root.path}/{source.path}"
    try:
        stat = os.stat(file)  # noqa: PTH116  a path takes longer than the call
        stamp = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        if (cached := _heads.get(file)) and cached[0] == stamp:
            return cached[1]
        head = make_head(source, parse_frontmatter(read_text(Path(file))))
    except (ContentError, OSError) as error:
        what = error.what if isinstance(error, ContentError) else f"the file cannot be read ({error.strerror})"
        return TopicHead(topic_name(source.path), "(unreadable)", None, what, source.path)
    if time.time() - max(stat.st_mtime, stat.st_ctime) > YOUNG_SECONDS:
        if len(_heads) >= CACHED_HEADS:
            _heads.clear()
        _heads[file] = stamp, head
    return head


_heads: dict[str, tuple[tuple[int, int, int], TopicHead]] = {}


def make_head(source: SourceFile, parsed: Frontmatter) -> TopicHead:
    """What a list says of a topic with this frontmatter and body."""
    document = as_document(source, parsed)
    return TopicHead(
        topic_name(source.path),
        document.title,
        document.date,
        find_summary(parsed),
        source.path,
        document.interval,
        document.project,
        parsed.text("keep").casefold() in ("true", "yes", "on"),
        document.namespace,
    )


def parse_document(path: SourcePath, text: str) -> Document:
    """A topic with this text."""
    return as_document(SourceFile(path, Layer.TOPIC), parse_frontmatter(text))


def parse_head(path: SourcePath, text: str) -> TopicHead:
    """What a list says of a topic with this text."""
    return make_head(SourceFile(path, Layer.TOPIC), parse_frontmatter(text))


def select_approved(heads: Sequence[TopicHead], unapproved: Unapproved) -> list[TopicHead]:
    """The heads of what somebody has answered for; of a file whose title or summary alone differ, as it was then."""
    texts = unapproved([head.path for head in heads])
    return [
        parse_head(head.path, approved) if approved else head
        for head in heads
        if (approved := texts.get(head.path)) != LEFT_OUT
    ]


def find_summary(parsed: Frontmatter) -> str:
    """What a topic is about in one line: its frontmatter's summary, else the first sentence of its body.

    Of a link its text alone: shown elsewhere, such as on the index page, its target would lead nowhere.
    """
    paragraphs = (part.strip() for part in re.split(r"\n\s*\n", without_comments(parsed.body).replace("\r\n", "\n")))
    prose = (part for part in paragraphs if part and part[0] not in "#|<-*>`![" and not IN_TWO_LINES.search(part))
    text = parsed.text("summary") or next(prose, "")
    text = LINK.sub(r"\1", re.sub(r"\[\^[^\]]+\]", "", " ".join(text.split())))
    return shorten_text(first_sentence(text), SUMMARY_CHARS)


def shorten_text(text: str, max_chars: int) -> str:
    """The text itself where it fits, else its beginning with an ellipsis."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def read_document(root: MemoryRoot, source: SourceFile) -> Document:
    """One source. Raises ContentError with its path and line where it is not what it should be."""
    return document_and_text(root, source)[0]


def document_and_text(root: MemoryRoot, source: SourceFile) -> tuple[Document, str]:
    """One source, and the text of its file. Raises ContentError as `read_document` does."""
    try:
        text = read_text(root.file(source.path))
        return as_document(source, parse_frontmatter(text)), text
    except ContentError as error:
        raise ContentError(error.what, where=Path(source.path), line=error.line or 1, remedy=error.remedy) from error


def is_topic(path: SourcePath) -> bool:
    """Whether a source is one of the topics, rather than the lessons, the index page or another layer's."""
    return path.startswith("topics/")


def find_fault(root: MemoryRoot, source: SourceFile) -> Problem | None:
    """Why a source cannot be read; None where it can."""
    try:
        read_document(root, source)
    except ContentError as error:
        return as_problem(source, error)
    return None


def as_problem(source: SourceFile, error: ContentError) -> Problem:
    """A source that cannot be read, as a finding."""
    return Problem(source.path, error.line or 1, error.what, error.remedy, SkipKind.UNREADABLE)


def as_document(source: SourceFile, parsed: Frontmatter) -> Document:
    """What a file with its frontmatter says about itself."""
    return Document(
        path=source.path,
        layer=source.layer,
        title=parsed.text("title") or first_heading(parsed.body) or name_in_words(source.path),
        body=without_merge_marks(parsed.body),
        body_line=parsed.body_line,
        date=document_date(source, parsed),
        kind=parsed.text("type").casefold(),
        project=parsed.text("project"),
        machine=parsed.text("machine"),
        agent=parsed.text("agent") or find_agent(source.path),
        branch=parsed.text("extensions.oneiros.branch"),
        namespace=parsed.text("namespace") or find_folder(source.path),
        tags=tuple(tag.casefold() for tag in parsed.texts("tags")),
        entities=names_of_entities(parsed),
        supersedes=tuple(parse_superseded(parsed).values()),
        summary=" ".join((parsed.text("summary") or parsed.text("description")).split())[:MAX_SUMMARY_CHARS],
        head=parsed.block.strip("-.\r\n \ufeff")[:MAX_HEAD_CHARS],
        identity=parsed.text("id"),
        interval=parsed.interval() if source.layer is Layer.TOPIC else ALWAYS,
        fault=parsed.fault,
    )


def find_merge_marks(body: str) -> list[int]:
    """The lines, from 0, at which git marks the sides of a merge that nobody has finished; code is let alone."""
    marks = {number for number, line in enumerate(split_lines(body)) if MERGE_MARK.match(line)}
    return sorted(marks - code_lines(body)) if marks else []


def without_merge_marks(body: str) -> str:
    """A text with empty lines in the place of such marks and of what parts the sides."""
    if not (marks := find_merge_marks(body)):
        return body
    lines = split_lines(body)
    parting = [at for at in range(marks[0], marks[-1]) if lines[at].strip() == "======="]
    for at in (*marks, *parting):
        lines[at] = "\n"
    return "".join(lines)


def find_folder(path: SourcePath) -> str:
    """The folder of a topic below topics/; empty for one that lies there itself, and for another source."""
    return path.removeprefix("topics/").rpartition("/")[0] if is_topic(path) else ""


def find_agent(path: SourcePath) -> str:
    """The agent of a compressed session that names none: those of Claude Code do not."""
    return CLAUDE if path.startswith("sessions/compressed/") else ""


def document_date(source: SourceFile, parsed: Frontmatter) -> dt.date | None:
    """The day on which a document was last true: of its last change, its creation, its last source, or in its name."""
    stated = parsed.date("modified", "end", "created", "date", "start")
    noted = NOTED_DAY.findall(parsed.body) if not stated and source.layer is Layer.TOPIC else []
    if stated := stated or parse_date(max(noted, default="")):
        return stated
    named = DATE_IN_NAME.search(Path(source.path).name)
    return parse_date(named[0]) if named else None


def find_entities(parsed: Frontmatter) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """What a document says that it speaks of, by its place: `entity` or `entities[0]`."""
    listed = parsed.fields.get("entities", ())
    places = {f"entities[{place}]": one for place, one in enumerate(listed if isinstance(listed, list) else ())}
    for place, one in {"entity": parsed.fields.get("entity"), **places}.items():
        if isinstance(one, Mapping):
            yield place, one


def names_of_entities(parsed: Frontmatter) -> tuple[str, ...]:
    """Their names, case-folded, each once."""
    named = (one.get("name") for _, one in find_entities(parsed))
    return tuple(dict.fromkeys(name.casefold() for name in named if name and isinstance(name, str)))


def parse_superseded(parsed: Frontmatter) -> dict[str, str]:
    """The targets of `supersedes` relationships, each by its place: `relationships[0]`."""
    relationships = parsed.fields.get("relationships", ())
    found = {}
    for place, entry in enumerate(relationships if isinstance(relationships, list) else ()):
        if isinstance(entry, dict) and entry.get("type") == "supersedes" and isinstance(entry.get("target"), str):
            found[f"relationships[{place}]"] = str(entry["target"])
    return found


def list_names(path: SourcePath, identity: str) -> tuple[str, ...]:
    """What a `supersedes` relationship may call a source, as `normalise_target` writes it: its path, name or id."""
    names = (path, path.removesuffix(".md"), topic_name(path), identity)
    return tuple(dict.fromkeys(name.casefold() for name in names if name))


def normalise_target(target: str) -> str:
    """The target of a relationship in the form of `list_names`."""
    return posixpath.normpath(target).casefold().removeprefix("urn:mif:")


def first_heading(body: str) -> str:
    """The text of the first heading outside fenced code and comments; empty where there is none.

    Read line by line, since parsing the Markdown of every topic would make a list of them slow.
    """
    fence = before = ""
    for line in split_lines(without_comments(body)):
        if mark := FENCE.match(line.rstrip()):
            opened = mark[1] or mark[2]
            if not fence:
                fence = opened
            elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif not fence and (heading := HEADING.match(line)) and (text := bare_heading(line[heading.end() :])):
            return text
        elif not fence and before and UNDERLINE.fullmatch(line.rstrip()):
            return before
        before = line.strip() if not fence and not before and PLAIN_LINE.match(line) else ""
    return ""


def bare_heading(text: str) -> str:
    """A heading without the marks that may close it: `Relay ##` -> `Relay`, but `C#` stays."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare.endswith((" ", "\t")) else text


def name_in_words(path: SourcePath) -> str:
    """`topics/mail-relay.md` -> `mail relay`."""
    return re.sub(r"[-_]+", " ", Path(path).stem).strip() or path


def topic_name(path: SourcePath) -> str:
    """The name by which a topic is asked for: its path below `topics/` without the ending; `lessons`; `MEMORY`."""
    return path.removeprefix("topics/").removesuffix(".md")
