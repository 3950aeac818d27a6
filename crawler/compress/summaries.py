"""Summaries of long, old or weak sessions and episodes: a file beside each, by the extractive compressor.

Mnemonic's rule names them; the content stays as it is. A summary is derived of one file and made once.
"""

import datetime as dt
from collections.abc import Iterable
from pathlib import Path

import yaml

from crawler.compress.candidates import DigestCandidate, SectionName
from crawler.compress.selection import choose
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.sessions import STATEMENT, SUMMARY_CHARS
from memory_server.layers.topics import read_text
from memory_server.machine.files import replace_file

MOST_LINE_CHARS = 160  # a longer one would leave no room for a second


def summary_file(file: Path) -> Path:
    """Beside the file; its ending keeps it from being a source."""
    return file.with_suffix(".summary.yaml")


def write_summaries(files: Iterable[Path], today: dt.date) -> int:
    """Writes what is not there yet; returns how many."""
    written = 0
    for file in files:
        if not summary_file(file).exists() and (summary := summary_of_file(read_text(file))):
            fields = {"summary": summary, "compressed_at": today.isoformat()}
            replace_file(summary_file(file), yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=1_000))
            written += 1
    return written


def summary_of_file(text: str) -> str:
    """Some lines of a file that say most of it, in its order, at most SUMMARY_CHARS characters."""
    lines = [line.strip() for line in parse_frontmatter(text).body.splitlines()]
    told = [found["text"] if (found := STATEMENT.match(line)) else line for line in lines if line and line[0] != "#"]
    candidates = [DigestCandidate(SectionName.OUTCOME, line[:MOST_LINE_CHARS], ()) for line in told]
    chosen = choose(candidates, told, max_chars=SUMMARY_CHARS)
    return " ".join(one.text for one in chosen.chosen)[:SUMMARY_CHARS]
