"""A line of a topic that somebody calls wrong: which statement that is, and another in its place."""

import re
from dataclasses import replace

from dream.judge.compare import Match, find_place, make_match, strongest
from dream.judge.filing import find_topic
from dream.records import Candidate, Relation, Update
from dream.statements.reading import read_statement
from dream.topics import Topics, TopicStatement
from memory_server.document import SourcePath
from memory_server.errors import UsageError, nearest_or
from memory_server.escaping import escape_line
from memory_server.layers.topics import shorten_text, topic_name

PLACE = re.compile(r"(?P<name>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
NEAR = 3  # statements named where a line holds none
NEAR_CHARS = 60


def wrong_statement(place: str, text: str, topics: Topics, project: str = "") -> Match:
    """The statement at a place such as `topics/mail.md:12` or `mail:12-14`; of several that which `text` is most like.

    A topic of the project needs no folder ahead of it. Raises UsageError where the place names no topic or no
    statement, or leaves open which one is meant.
    """
    match = PLACE.fullmatch(place.strip())
    if match is None:
        raise UsageError(f"{place!r} names no line", remedy="Write TOPIC:LINE, such as mail:12")
    exact = next((topic for topic in topics.files if topic.path == match["name"]), None)
    named = (topic for topic in topics.files if _is_named(topic.path, match["name"]))
    topic = exact or find_topic(match["name"], project, topics.files) or next(named, None)
    if topic is None:
        known = (topic_name(SourcePath(one.path)) for one in topics.files)
        remedy = nearest_or("`oneiros topics` lists the names", match["name"], known)
        raise UsageError(f"there is no topic named {match['name']!r}", remedy=remedy)
    first = int(match["first"])
    last = max(first, int(match["last"] or first))
    there = [one for one in topic.statements if one.lines.first <= last and one.lines.last >= first]
    if not there:
        near = sorted(topic.statements, key=lambda one: abs(one.lines.first - first))[:NEAR]
        raise UsageError(f"{topic.path}:{first} holds no statement", remedy=f"Near it: {_format_statements(near)}")
    reading = read_statement(text)
    found = strongest([make_match(reading, topic, statement, topics.rarity) for statement in there])
    assert found is not None
    if len(there) > 1 and not (found.alike or found.contradiction):
        remedy = f"Say it with a word of the one that you mean: {_format_statements(there)}"
        raise UsageError(f"{topic.path}:{first} holds several statements", remedy=remedy)
    return found


def remove_statement(topics: Topics, wrong: Match) -> Topics:
    """The topics as if the wrong statement were not there."""
    left = tuple(one for one in wrong.topic.statements if one is not wrong.statement)
    files = (replace(topic, statements=left) if topic is wrong.topic else topic for topic in topics.files)
    return replace(topics, files=tuple(files))


def make_correction(candidate: Candidate, wrong: Match) -> Update:
    """The update that puts the candidate in the place of the wrong statement."""
    where = f"{wrong.topic.path}:{wrong.statement.lines.first}"
    if candidate.text == wrong.statement.text:
        raise UsageError(f"{where} says just this", remedy="Say what is right instead")
    return Update(candidate, Relation.SUPERSEDES, find_place(wrong), f"{where} was called wrong.")


def _is_named(path: SourcePath, name: str) -> bool:
    wanted = name.removesuffix(".md").casefold()
    return wanted in (path.removesuffix(".md").casefold(), topic_name(path).casefold())


def _format_statements(statements: list[TopicStatement]) -> str:
    lines = (f"{one.lines.first}: {shorten_text(escape_line(one.text), NEAR_CHARS)}" for one in statements)
    return "; ".join(lines) or "the topic has none"
