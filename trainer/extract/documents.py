"""Reads PDF, Markdown, text and Word files as pages of text.

A PDF is a stranger's program: it is read in a process of its own (`pdf_pages.py`) under limits of time, pages and
memory, with PDFium first and pypdf where PDFium fails. A page with hardly any text is likely a scan; it is reported
and left out.
"""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

from trainer.errors import DataError
from trainer.extract.chunks import Page

PDF_SECONDS = 120  # a 1,000-page book takes PDFium a few seconds and pypdf about a minute
SUFFIXES = (".pdf", ".md", ".markdown", ".txt", ".docx")


def read_document(path: Path) -> list[Page]:
    """The pages of a document. Raises DataError where it cannot be read or is of no known kind."""
    suffix = path.suffix.lower()
    if suffix == ".pdf":
        return read_pdf(path)
    if suffix == ".docx":
        return read_docx(path)
    if suffix in SUFFIXES:
        try:
            return [Page(0, path.read_text(encoding="utf-8-sig"))]
        except UnicodeDecodeError as error:
            raise DataError("this file is not UTF-8", where=path, remedy="Save it as UTF-8") from error
    raise DataError(f"{suffix or 'no suffix'} is not read here", where=path, remedy=f"Use one of {', '.join(SUFFIXES)}")


def read_pdf(path: Path) -> list[Page]:
    """The pages of a PDF, read by a process that may fail without harm."""
    command = [sys.executable, "-m", "trainer.extract.pdf_pages", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PDF_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise DataError(f"reading took longer than {PDF_SECONDS} s", where=path, remedy="Split the PDF") from error
    if done.returncode != 0:
        reason = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[-1]
        raise DataError(f"this PDF cannot be read ({reason[:200]})", where=path, remedy="Save it anew or leave it out")
    return [Page(number, text) for number, text in json.loads(done.stdout)]


def read_docx(path: Path) -> list[Page]:
    """The paragraphs and table rows of a Word file as one page; headings become Markdown headings."""
    # Imported here, so that `--help` and the other stages do without it.
    import docx  # noqa: PLC0415
    from docx.opc.exceptions import OpcError  # noqa: PLC0415

    try:
        document = docx.Document(str(path))
    except (OpcError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DataError("this is not a Word document", where=path, remedy="Save it anew as .docx") from error
    blocks: list[str] = []
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            blocks.extend(" | ".join(cell.text.strip() for cell in row.cells) for row in block.rows)
        elif block.text.strip():
            style = block.style.name if block.style else ""
            level = int(style[-1]) if style.startswith("Heading ") and style[-1].isdigit() else 0
            blocks.append(f"{'#' * min(level, 6)} {block.text.strip()}" if level else block.text.strip())
    return [Page(0, "\n\n".join(blocks))]
