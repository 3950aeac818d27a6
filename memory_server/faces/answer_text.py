"""Answers as compact numbered text for a model, and as JSON for a program. The same answer gives the same bytes.

Every line of a passage is set in, so that text from a transcript cannot pass for a hit of its own. Nothing here is
heavy: the command line imports it.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any

from memory_server.document import (
    BY_LINE,
    TYPES,
    UNAPPROVED,
    Answer,
    Certainty,
    ChunkId,
    Hit,
    Layer,
    LineRange,
    Reason,
    Standing,
    show_place,
)
from memory_server.escaping import escape_line, escape_text
from memory_server.language.shortening import shorten_passage
from memory_server.language.spelling import unify
from memory_server.language.words import content_words
from memory_server.search.question import SHOWN_HITS

CHARS_A_TOKEN = 4
MAX_ANSWER_CHARS = 9_900  # Claude Code keeps an answer under 10,000 characters whole
DOUBTFUL_CHARS = 700  # of an answer that is likely to be none
LACKING = "In none of these passages: %s."
MOST_LACKING = 3  # words that are named
CUT_CHARS = 6  # the marks of a passage that is cut, and a line's end
MIN_PASSAGE_CHARS = 120  # of a hit that is shown at all
BY_WORDS_CHARS = 300  # of a passage that was found by its words alone, around them
MAX_TITLE_CHARS = 80
PASSAGE_MARGIN = " | "
BOLD = re.compile(r"(?<![\w/*])\*\*(?=[\w\"'`(])([^*\n]+?)\*\*(?![\w/*])")
MARKS = re.compile(r"[\s\W_]*|\s*`{3,}\w*")
BLANKS = re.compile(r"[ \t]{2,}")
PLAIN = (  # what a hit calls the same in JSON
    *("passage", "path", "title", "score", "type", "decides", "unapproved", "outside", "replaced_by"),
    *("settled_at", "amended", "newer", "rejected", "memory", "project"),
)


def answer_text(answer: Answer, budget_tokens: int) -> str:
    """Hits by number, each a line of who, when, where and how sure above its passage, within a budget of tokens.

    The best passages are shown whole, those behind them as far as there is room: a third of a passage seldom holds the
    answer that the passage holds. Where more than SHOWN_HITS were asked for, each of them has some.
    """
    if not answer.hits:
        return format_remark(answer) or "Nothing found."
    most = DOUBTFUL_CHARS if answer.is_doubtful else MAX_ANSWER_CHARS
    note = " ".join(filter(None, [format_remark(answer), lacking(answer)]))
    room = min(budget_tokens * CHARS_A_TOKEN, most) - len(note) - CUT_CHARS
    shown_hits = [(_head(number, hit), _visible(hit.passage)) for number, hit in enumerate(answer.hits, start=1)]
    least = [len(head) + min(len(passage), MIN_PASSAGE_CHARS) + CUT_CHARS for head, passage in shown_hits]
    blocks: list[str] = []
    for place, (head, passage) in enumerate(shown_hits):
        if blocks and room < least[place]:
            break
        reserved = sum(least[place + 1 :]) if len(least) > SHOWN_HITS else 0
        chars = max(room - reserved, least[place]) - len(head) - CUT_CHARS
        chars = min(chars, BY_WORDS_CHARS) if is_by_words(answer.hits[place]) else chars
        block = "\n".join([head, *_passage_lines(passage, answer.terms, max(chars, MIN_PASSAGE_CHARS))])
        blocks.append(block)
        room -= len(block) + 1
    return "\n".join(filter(None, [*blocks, note]))


def format_remark(answer: Answer) -> str:
    """What to tell beside the hits: the note, and what the answer lacks."""
    return " ".join(filter(None, [answer.note, answer.lacks]))


def lacking(answer: Answer) -> str:
    """Which of the words that were looked up an unsure answer shows nowhere, the rarest first."""
    if any(hit.certainty is not Certainty.PERHAPS for hit in answer.hits):
        return ""
    shown_texts = (f"{_about(hit)} {show_place(hit.path, hit.lines)} {hit.passage}" for hit in answer.hits)
    held = {stem for text in shown_texts for stem in content_words(unify(text))}
    words = [word for word in answer.terms if held.isdisjoint(content_words(unify(word)) or held)]
    return LACKING % ", ".join(map(escape_line, words[:MOST_LACKING])) if words else ""


def is_by_words(hit: Hit) -> bool:
    """Whether a hit was found by its words alone, around which the answer stands."""
    return bool(hit.why) and all(reason.arm in ("literal", "turns") for reason in hit.why)


def answer_json(answer: Answer) -> dict[str, Any]:
    """The answer for programs: `hits` best first, `note`, and what it `lacks`."""
    hits = [hit_json(number, hit) for number, hit in enumerate(answer.hits, start=1)]
    return {"hits": hits, "note": answer.note, "lacks": answer.lacks}


def hit_json(number: int, hit: Hit) -> dict[str, Any]:
    """One hit for programs. Lines count from 1, both ends included; `score` is comparable within one answer only."""
    return {
        "number": number,
        "id": hit.chunk,
        "layer": hit.layer.value,
        "rank": hit.layer.rank,
        "title": hit.title,
        "date": hit.date.isoformat() if hit.date else None,
        "path": hit.path,
        "first_line": hit.lines.first,
        "last_line": hit.lines.last,
        "score": round(hit.score, 4),
        "certainty": hit.certainty.value,
        "passage": hit.passage,
        "why": [{"arm": reason.arm, "detail": reason.detail} for reason in hit.why],
        "type": hit.type,
        "tags": list(hit.tags),
        "time": hit.time.isoformat() if hit.time else None,
        "more_lines": [[lines.first, lines.last] for lines in hit.more_lines],
        "decides": hit.decides,
        "unapproved": hit.unapproved,
        "outside": hit.outside,
        "replaced_by": hit.replaced_by,
        "standing": hit.standing or "",
        "settled_at": hit.settled_at,
        "amended": hit.amended,
        "newer": hit.newer,
        "rejected": hit.rejected,
        "memory": hit.memory,
        "project": hit.project,
    }


def explain_answer(answer: Answer) -> dict[str, Any]:
    """The words looked up, how sure recall is, and for each hit the score of every arm and stage."""
    scores = {hit.chunk: dict(hit.parts) for hit in answer.hits}
    return {"terms": list(answer.terms), "confidence": answer.confidence, "scores": scores}


def answer_of_json(found: Mapping[str, Any]) -> Answer:
    """The answer that `answer_json`, and `explained` where it is there too, was made from."""
    scores = found.get("scores", {})
    return Answer(
        tuple(_hit_of_json(hit, scores.get(hit["id"], {})) for hit in found["hits"]),
        str(found["note"]),
        tuple(found.get("terms", ())),
        confidence=float(found.get("confidence", 0.0)),
        lacks=str(found.get("lacks", "")),  # which an older daemon does not tell
    )


def _hit_of_json(hit: Mapping[str, Any], parts: Mapping[str, float]) -> Hit:
    plain = {name: hit[name] for name in PLAIN if name in hit}  # an older daemon names fewer
    return Hit(
        chunk=ChunkId(hit["id"]),
        lines=LineRange(hit["first_line"], hit["last_line"]),
        layer=Layer(hit["layer"]),
        date=dt.date.fromisoformat(hit["date"]) if hit["date"] else None,
        why=tuple(Reason(reason["arm"], reason["detail"]) for reason in hit["why"]),
        tags=tuple(hit.get("tags", ())),
        time=dt.datetime.fromisoformat(hit["time"]) if hit.get("time") else None,
        parts=parts,
        more_lines=tuple(LineRange(*lines) for lines in hit["more_lines"]),
        certainty=Certainty(hit.get("certainty", Certainty.PERHAPS)),
        standing=Standing(hit["standing"]) if hit.get("standing") else None,
        **plain,
    )


def _head(number: int, hit: Hit) -> str:
    marks = [*filter(None, [format_type(hit)]), *(["decides"] if hit.decides else [])]
    if hit.unapproved:
        marks.append(UNAPPROVED)
    if hit.outside:
        marks.append(hit.outside)
    if hit.standing:
        marks.append(format_standing(hit))
    if hit.amended:
        marks.append(f"amended {escape_line(hit.amended)}")
    if hit.newer:
        marks.append(f"newer {escape_line(hit.newer)}")
    if hit.rejected:
        marks.append(f"rejected by the person {hit.rejected}")
    if hit.replaced_by:
        marks.append(f"replaced by {escape_line(hit.replaced_by)}")
    if hit.more_lines and hit.layer is not Layer.RAW:  # whose passage shows them
        marks.append(f"also lines {', '.join(str(lines) for lines in hit.more_lines[:4])}")
    parts = [  # the memory's name stands before all that its files say, so that no title can pass for another's
        f"{number}. {f'{hit.memory} | ' if hit.memory else ''}{format_layer(hit.layer)}",
        _about(hit),
        format_date(hit.date) or "undated",
        format_field(show_place(hit.path, hit.lines)),
        hit.certainty,
        *marks,
    ]
    return " | ".join(parts)


def _about(hit: Hit) -> str:
    """What a hit is of: a turn of a project, a session by its title too, any other source by its title."""
    of_project = [hit.project] if hit.layer in BY_LINE and hit.project else []
    return format_title(
        ": ".join([*of_project, *([hit.title] if hit.layer is not Layer.RAW or not of_project else [])])
    )


def _visible(passage: str) -> str:
    """A passage as it is shown, line by line, so that its length is the length of what is shown.

    Blank lines, those of marks alone, runs of blanks and marks of bold type say nothing to a model.
    """
    plain = BLANKS.sub(" ", BOLD.sub(r"\1", escape_text(passage)))
    lines = (line.rstrip() for line in plain.split("\n"))
    return "\n".join(f"{PASSAGE_MARGIN}{line}" for line in lines if not MARKS.fullmatch(line))


def _passage_lines(visible: str, terms: Sequence[str], chars: int) -> list[str]:
    first, *others = shorten_passage(visible, terms, chars).split("\n")
    first = f"{PASSAGE_MARGIN}{first.strip().removeprefix(PASSAGE_MARGIN.lstrip())}"  # which a cut may have halved
    return [first, *(line if line.startswith(PASSAGE_MARGIN) else f"{PASSAGE_MARGIN}{line.strip()}" for line in others)]


def format_field(text: str) -> str:
    """A text as one field of a head, which it cannot end."""
    return escape_line(text).replace("|", "\\|")


def format_title(title: str) -> str:
    line = format_field(title)
    return line if len(line) <= MAX_TITLE_CHARS else f"{line[:MAX_TITLE_CHARS]} …"


def format_standing(hit: Hit) -> str:
    """The one word for what was said in a session, and of what was dropped the turn that did it."""
    return f"dropped at turn {hit.settled_at}" if hit.standing is Standing.DROPPED else hit.standing or ""


def format_type(hit: Hit) -> str:
    """What the recorder says of a hit; not of what a session was asked for, since a topic is a file."""
    return hit.type if hit.type in TYPES and hit.type != "topic" else ""


def format_layer(layer: Layer) -> str:
    return f"{layer.value} (rank {layer.rank})"


def format_date(date: dt.date | None) -> str:
    return date.isoformat() if date else ""
