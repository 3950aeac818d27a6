"""Prints the pages of one PDF as JSON; run as a process of its own so that a bad file cannot harm the stage."""

import json
import sys

import pypdf
import pypdfium2

MAX_PAGES = 5_000
MAX_BYTES = 2 << 30  # address space of the process; a crafted PDF otherwise unpacks to any size


def main(path: str) -> None:
    """Write [[page number, text], ...] to stdout."""
    limit_memory()
    try:
        pages = pages_by_pdfium(path)
    except pypdfium2.PdfiumError:
        pages = pages_by_pypdf(path)
    sys.stdout.write(json.dumps(pages))


def pages_by_pdfium(path: str) -> list[tuple[int, str]]:
    """Page numbers, counted from 1, with their text."""
    with pypdfium2.PdfDocument(path) as document:
        return [
            (number + 1, document[number].get_textpage().get_text_bounded().replace("\r\n", "\n"))
            for number in range(min(len(document), MAX_PAGES))
        ]


def pages_by_pypdf(path: str) -> list[tuple[int, str]]:
    """The same by pypdf, which is slower but mends files that PDFium refuses."""
    reader = pypdf.PdfReader(path)
    return [(number, page.extract_text()) for number, page in enumerate(reader.pages[:MAX_PAGES], start=1)]


def limit_memory() -> None:
    """Bound the address space where the platform can."""
    try:
        import resource  # noqa: PLC0415  (there is none on Windows)
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))


if __name__ == "__main__":
    main(sys.argv[1])
