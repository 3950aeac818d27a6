"""What sources a memory root has, and how one is read into a `Document`.

A topic is any Markdown file below `topics/`, with or without frontmatter. Proposals, reports and the blackboard are
never sources. A file that cannot be read is a `Problem`, never the end of the run.
"""

import datetime as dt
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_server.document import Document, Layer, SourcePath
from memory_server.errors import ContentError
from memory_server.layers.mif import Frontmatter, parse_date, parse_frontmatter
from memory_server.root import MemoryRoot

MAX_SOURCE_BYTES = 4_000_000  # a larger file is no topic; it is reported and left out
FIRST_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*\r?$", re.MULTILINE)
FENCED_BLOCK = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n.*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
DATE_IN_NAME = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that the indices are built from."""

    path: SourcePath
    layer: Layer


def find_sources(root: MemoryRoot) -> Iterator[SourceFile]:
    """All sources below a memory root, in the order of their paths, layer by layer."""
    for page in (root.index_page, root.lessons):
        if page.is_file():
            yield SourceFile(root.relative(page), Layer.TOPIC)
    for folder, layer in ((root.topics, Layer.TOPIC), (root.sessions, Layer.SESSION), (root.episodes, Layer.SESSION)):
        for file in markdown_files(folder):
            yield SourceFile(root.relative(file), layer)


def markdown_files(folder: Path) -> Iterator[Path]:
    """The Markdown files below a folder, sorted; hidden ones, editors' temporary ones and symlinks are left out.

    A symlink could bring a file from outside the memory to rank 1.
    """
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(place, name)
            if name.endswith(".md") and not name.startswith((".", "#")) and not file.is_symlink():
                yield file


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
    if b"\0" in raw:
        raise ContentError(
            "the file holds NUL bytes", line=1 + raw[: raw.index(b"\0")].count(b"\n"), remedy="Save it as UTF-8 text"
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + raw[: error.start].count(b"\n")
        raise ContentError("the file is not UTF-8 text", line=line, remedy="Save it as UTF-8") from error


def read_document(root: MemoryRoot, source: SourceFile) -> Document:
    """One source. Raises ContentError with its path and line where it is not what it should be."""
    try:
        text = read_text(root.file(source.path))
        return as_document(source, parse_frontmatter(text))
    except ContentError as error:
        raise ContentError(error.what, where=Path(source.path), line=error.line or 1, remedy=error.remedy) from error


def as_document(source: SourceFile, parsed: Frontmatter) -> Document:
    """What a file with its frontmatter says about itself."""
    return Document(
        path=source.path,
        layer=source.layer,
        title=parsed.text("title") or first_heading(parsed.body) or name_in_words(source.path),
        body=parsed.body,
        body_line=parsed.body_line,
        date=document_date(source, parsed),
        kind=parsed.text("type").casefold(),
        project=parsed.text("project"),
        machine=parsed.text("machine"),
        tags=tuple(tag.casefold() for tag in parsed.texts("tags")),
        supersedes=superseded_by(parsed),
    )


def document_date(source: SourceFile, parsed: Frontmatter) -> dt.date | None:
    """The day on which a document was last true: of its last change, its creation, or in its name."""
    stated = parsed.date("modified", "end", "created", "date", "start")
    if stated:
        return stated
    named = DATE_IN_NAME.search(Path(source.path).name)
    return parse_date(named[0]) if named else None


def superseded_by(parsed: Frontmatter) -> tuple[str, ...]:
    """The targets of `supersedes` relationships."""
    relationships = parsed.fields.get("relationships", ())
    if isinstance(relationships, str):
        return ()
    found = []
    for entry in relationships:
        if isinstance(entry, dict) and entry.get("type") == "supersedes" and isinstance(entry.get("target"), str):
            found.append(str(entry["target"]))
    return tuple(found)


def first_heading(body: str) -> str:
    """The text of the first ATX heading outside fenced code; empty where there is none."""
    found = FIRST_HEADING.search(FENCED_BLOCK.sub("", body) if "```" in body or "~~~" in body else body)
    return found[1].strip() if found else ""


def name_in_words(path: SourcePath) -> str:
    """`topics/mail-relay.md` -> `mail relay`."""
    return re.sub(r"[-_]+", " ", Path(path).stem).strip() or path


def topic_name(path: SourcePath) -> str:
    """The name by which a topic is asked for: its path below `topics/` without the ending; `lessons`; `MEMORY`."""
    return path.removeprefix("topics/").removesuffix(".md")
