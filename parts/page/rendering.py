"""Templates become HTML here, and nowhere else.

Every value that a template prints is data: what cannot be seen is written out, then it is escaped. Nothing is marked
as HTML but what `markdown.py` has cleaned and `marked` has made of escaped parts.
"""

import datetime as dt
import html
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from memory_server.document import Hit, Layer, session_of_path
from memory_server.escaping import escape_line, escape_text, plural
from memory_server.language.spelling import compose
from memory_server.language.words import FUNCTION_WORDS
from memory_server.layers.footnotes import REFERENCE
from memory_server.layers.sessions import parse_id8
from memory_server.machine.clock import local
from parts.page.markdown import render_text

TEMPLATES = Path(__file__).with_name("templates")
CLIP_CHARS = 2_000
KEPT_WORDS = 8  # of questions whose hits are being shown
ENTRIES = re.compile(r" \[[0-9A-Za-z-]{8,36}(?:, [0-9A-Za-z-]{8,36})*\]$", re.MULTILINE)  # behind a session's line
CODE = re.compile(r"(?<!`)(`+)(?!`) ?(.+?) ?(?<!`)\1(?!`)")  # as many backticks as opened it
TAG = re.compile(r'(<[^<>"]*(?:"[^"]*"[^<>"]*)*>)')  # of HTML that was cleaned
GUARDED = {  # headers of every answer
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Renderer:
    """Renders the templates of this package, and those of other folders."""

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._templates = Environment(
            loader=FileSystemLoader([TEMPLATES, *folders]),
            autoescape=True,
            auto_reload=False,
            finalize=visible,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "line": escape_line,
            "clip": clip,
            "day": day,
            "moment": moment,
            "iso": iso,
            "marked": mark_words,
            "code": mark_code,
            "part": part,
            "place": make_hit_address,
            "cited": make_citation_address,
            "without_references": drop_references,
            "prose": render_text,
            "mark_html": mark_html,
            "quoted": shlex.quote,
            "query": query,
            "plural": plural,
        }

    def __call__(self, template: str, **values: Any) -> HTMLResponse:
        """The answer that a template makes of what it is told."""
        return HTMLResponse(self._templates.get_template(template).render(**values), headers=GUARDED)


def visible(value: object) -> object:
    """A printed value, hidden characters written out; what is HTML already stays."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else escape_text(value)


def clip(text: str, chars: int = CLIP_CHARS) -> str:
    """The beginning of a long text, and how much more there is."""
    return text if len(text) <= chars else f"{text[:chars]}… ({len(text) - chars:,} characters more)"


def day(value: dt.date | None) -> str:
    """A day, or a dash."""
    return f"{value:%Y-%m-%d}" if value else "–"


def moment(value: dt.datetime | None) -> str:
    """A moment by the clock of this machine, or a dash."""
    return f"{local(value):%Y-%m-%d %H:%M}" if value else "–"


def iso(text: str) -> str:
    """The same of a moment that is written; the text itself where it is none."""
    try:
        return moment(dt.datetime.fromisoformat(text))
    except ValueError:
        return text


def part(text: str) -> str:
    """A text as one part of an address, slashes kept."""
    return quote(text, safe="/")


def query(fields: Mapping[str, str | int]) -> str:
    """The part of an address behind its question mark; what is empty is left out."""
    return urlencode({name: value for name, value in fields.items() if value})


def mark_words(text: str, words: Sequence[str]) -> Markup:
    """A text with the words that were looked for marked, but for those that stand in every text."""
    pattern = _find_telling(tuple(words))
    if pattern is None:
        return escape(escape_text(text))
    pieces = pattern.split(escape_text(compose(text)))
    return Markup("").join(Markup("<mark>%s</mark>") % piece if odd % 2 else piece for odd, piece in enumerate(pieces))


@lru_cache(maxsize=KEPT_WORDS)
def _find_telling(words: Sequence[str]) -> re.Pattern[str] | None:
    """What finds the words that tell something; None where none does. They are looked for in each piece of all hits."""
    telling = {escape_line(word) for word in words if len(word) > 1 and word.casefold() not in FUNCTION_WORDS}
    stems = sorted(map(re.escape, telling), key=len, reverse=True)
    return re.compile(rf"(\b(?:{'|'.join(stems)})\w*)", re.IGNORECASE) if stems else None


def mark_code(text: str) -> Markup:
    """A line of text in which what stands between backticks is code."""
    pieces = CODE.split(escape_text(text))
    plain, codes = pieces[::3], [*pieces[2::3], ""]  # between them the backticks
    marked = (
        Markup("%s<code>%s</code>") % (one, code) if code else one for one, code in zip(plain, codes, strict=True)
    )
    return Markup("").join(marked)


def drop_references(text: str) -> str:
    """A passage without what points at its sources."""
    return REFERENCE.sub("", ENTRIES.sub("", text))


def mark_html(rendered: Markup, words: Sequence[str]) -> Markup:
    """Rendered HTML with the words that were looked for marked in its text."""
    pieces = TAG.split(str(rendered))
    marked = (Markup(one) if odd % 2 else mark_words(html.unescape(one), words) for odd, one in enumerate(pieces))  # noqa: S704  a tag of what was cleaned
    return Markup("").join(marked)


def make_hit_address(hit: Hit) -> str:
    """The address at which a hit is read."""
    return make_address(hit.path, hit.lines.first, is_raw=hit.layer is Layer.RAW)


def make_citation_address(path: str, line: int) -> str:
    """The address at which cited words are read."""
    return make_address(path, line, is_raw=bool(session_of_path(path)))


def make_address(path: str, line: int, *, is_raw: bool) -> str:
    """The address of a line, or of a turn of an archived session; of line 0 that of the whole."""
    if is_raw:
        return f"/sessions/{part(path.rpartition('/')[2])}?depth=raw&first={line}"
    place = f"?line={line}" if line else ""
    if session := parse_id8(path):
        return f"/sessions/{session}{place}"
    return f"/topics/{part(path)}{place}"
