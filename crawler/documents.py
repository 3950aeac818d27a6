"""The text of a file of somebody else's: a plain one as it is; of a document or a notebook what was written."""

import io
import json
import re
import zipfile
from pathlib import PurePath
from xml.etree import ElementTree

MAX_BYTES = 64 * 1024  # of a file, or of what was written in a notebook; what is longer is data or generated
NOTEBOOK_BYTES = 4 * 1024 * 1024  # of a notebook, most of which is pictures of results
MARKDOWN = (".md", ".markdown")
OFFICE = ".docx"
NOTEBOOK = ".ipynb"
WORD_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def most_bytes(path: PurePath) -> int:
    """How long a file may be."""
    return NOTEBOOK_BYTES if path.suffix.lower() == NOTEBOOK else MAX_BYTES


def is_markdown(path: PurePath) -> bool:
    """Whether the text of a file is Markdown; else it is code."""
    return path.suffix.lower() in (*MARKDOWN, OFFICE, NOTEBOOK)


def document_text(path: PurePath, content: bytes) -> str | None:
    """The text of a file; None where it is not what its name says."""
    ending = path.suffix.lower()
    if ending == OFFICE:
        return _office_text(content)
    if ending == NOTEBOOK:
        return _notebook_text(content)
    return None if b"\0" in content else content.decode("utf-8", errors="replace")


def fence_code(code: str, language: str = "") -> str:
    """Code as Markdown holds it, whatever fences stand in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", code)), default=0))
    return f"{fence}{language}\n{code.rstrip()}\n{fence}\n"


def _office_text(content: bytes) -> str | None:
    """The paragraphs of a .docx; None where it is none, or declares entities, which no word processor writes."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            document = package.open("word/document.xml").read(16 * MAX_BYTES)
        if b"<!ENTITY" in document or b"<!DOCTYPE" in document:
            return None
        tree = ElementTree.fromstring(document)  # noqa: S314  entities are refused above
    except (KeyError, zipfile.BadZipFile, ElementTree.ParseError):
        return None
    paragraphs = (
        "".join(part.text or "" for part in p.iter(f"{WORD_NAMESPACE}t")) for p in tree.iter(f"{WORD_NAMESPACE}p")
    )
    return "\n\n".join(paragraphs)


def _notebook_text(content: bytes) -> str | None:
    """What was written in the cells of a notebook, without their results; None where it is none."""
    try:
        cells = json.loads(content)["cells"]
        found = [(str(cell["cell_type"]), "".join(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    written = (fence_code(text) if kind == "code" else text for kind, text in found if text.strip())
    return "\n\n".join(written)[:MAX_BYTES]
