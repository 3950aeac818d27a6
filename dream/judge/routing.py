"""Which topic a statement belongs to, and the line of it behind which it goes.

In this order: the topic that the statement was compared with; the one that the extractor names; the one whose words it
shares most; the project's own; a new one. Lessons go to `lessons.md`.
"""

import re

from dream.records import Candidate, Kind, Place
from dream.statements.words import content_words
from dream.topics import LESSONS, Topics, TopicStatement, TopicText
from memory_server.document import LineRange, SourcePath

BELONGS_FROM = 0.35  # share of a statement's telling words that a topic must hold to take it in unasked
SAFE_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_NAME = 60


def place_for(
    candidate: Candidate,
    topics: Topics,
    *,
    topic: TopicText | None = None,
    statement: TopicStatement | None = None,
    is_replaced: bool = False,
) -> Place:
    """Where a statement goes. `statement` is the one it was compared with, which gives way where `is_replaced`."""
    if topic and statement and is_replaced:
        return _in_place_of(topic, statement)
    if candidate.kind is Kind.LESSON:
        lessons = topics.file(LESSONS)
        return Place(LESSONS, _last_line(lessons) if lessons else 0, title="" if lessons else "Lessons")
    if topic and statement:
        return Place(topic.path, statement.lines.last)
    found = topics.file(topic_path(candidate.topic)) if candidate.topic else None
    found = found or _nearest(candidate, topics) or topics.file(topic_path(candidate.project))
    if found:
        return Place(found.path, _last_line(found))
    name = candidate.topic or candidate.project or "notes"
    return Place(topic_path(name), 0, title=name.replace("-", " ").strip().capitalize())


def topic_path(name: str) -> SourcePath:
    """A topic's path from any name: nothing of it can lead out of `topics/`."""
    if name.casefold().strip() in ("lessons", "lessons.md"):
        return LESSONS
    plain = "-".join(SAFE_NAME.findall(name.removeprefix("topics/").removesuffix(".md").casefold()))[:MAX_NAME].strip(
        "-"
    )
    return SourcePath(f"topics/{plain or 'notes'}.md")


def _in_place_of(topic: TopicText, statement: TopicStatement) -> Place:
    lines = topic.lines[statement.lines.first - 1 : statement.lines.last]
    return Place(
        topic.path,
        statement.lines.first - 1,
        replaces=LineRange(statement.lines.first, statement.lines.last),
        old_text="".join(lines),
        kept_before=statement.before,
        kept_after=statement.after,
    )


def _nearest(candidate: Candidate, topics: Topics) -> TopicText | None:
    """The topic that holds most of the statement's telling words, if that is enough of them."""
    words = set(content_words(candidate.text))
    total = sum(topics.rarity.of(word) for word in words)
    if not total:
        return None
    shares = [
        (sum(topics.rarity.of(word) for word in words & topic.words) / total, topic)
        for topic in topics.files
        if topic.path != LESSONS
    ]
    best = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    return best[1] if best[0] >= BELONGS_FROM else None


def _last_line(topic: TopicText) -> int:
    """The last line with text that is neither a footnote nor below a history heading, else that of the file."""
    return max((statement.lines.last for statement in topic.statements), default=len(topic.lines))
