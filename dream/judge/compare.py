"""How a statement stands to what the topics say: new, known, more of the same, or something else in its place; and of
a line that somebody calls wrong, which statement that is.

What speaks against what, `contradiction.py` tells; here it becomes a relation and a place. No language model is asked.
"""

import datetime as dt
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations

from crawler.reading.record import RULES
from dream.judge.contradiction import CHANGE, measure_contradiction, measure_share, weigh
from dream.judge.filing import choose_place, find_topic
from dream.judge.order import are_turned_round
from dream.records import Candidate, Kind, Place, Relation, Update, are_apart
from dream.statements.reading import StatementReading, read_statement
from dream.topics import Topics, TopicStatement, TopicText, statement_spans
from memory_server.document import LineRange, SourcePath
from memory_server.errors import UsageError, nearest_or
from memory_server.escaping import escape_line
from memory_server.language.cues import ignore_case
from memory_server.language.words import Rarity, content_words, measure_rarity
from memory_server.layers.topics import shorten_text, topic_name
from memory_server.machine.clock import local_day

ONE_THING = 0.75  # share of the telling words of the shorter of two that say otherwise of the same thing
CONTRADICTS_FROM = 0.5  # of 1; the weights were shifted so, see benchmarks/RESULTS.md for the curve
SAME_SUBJECT = 0.8  # of 1, from which rules alone offer a replacement
EXTENDS_FROM = 0.3
WORTH_NEW = 0.6  # confidence from which a statement is offered that no topic speaks of
WORTH_EXTENDING = 0.5
DRIFT_DAYS = 60  # a decision older than this is not overturned in passing
SHOWN_CHARS = 120  # of the words that took the place of others
AGAINST = frozenset({Relation.CONTRADICTS, Relation.SUPERSEDES, Relation.DRIFT, Relation.EARLIER})
LEAST_SHARED = 2  # telling words of two statements that may be about one thing
MAX_HOLDERS = 60  # statements that hold a word; a commoner one says nothing about the subject
SENTENCES = {
    Relation.NEW: "No topic speaks of this.",
    Relation.KNOWN: "says this already.",
    Relation.EXTENDS: "speaks of the same.",
    Relation.CONTRADICTS: "says otherwise: {}.",
    Relation.SUPERSEDES: "said otherwise, and the person announced a change: {}.",
    Relation.DRIFT: "records a decision of long ago; this goes against it without a reason: {}.",
    Relation.EARLIER: "was written after these words were said, and says otherwise: {}.",
}  # behind the place of the statement that it was compared with; filled with what speaks against it
REASON = ignore_case(r"\b(?:because|since|so that|due to|given that|in order to|as it|the reason|otherwise)\b")
PLACE = re.compile(r"(?P<name>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
NEAR = 3  # statements named where a line holds none
NEAR_CHARS = 60


@dataclass(frozen=True, slots=True)
class Match:
    """What a statement has to do with one statement of a topic."""

    topic: TopicText
    statement: TopicStatement
    alike: float  # 0 to 1, how much they are about the same
    contradiction: float  # 0 to 1
    is_known: bool
    why: str


def compare(candidate: Candidate, topics: Topics) -> Update:
    """The candidate's relation to the topics of its project and the person's own, and where it goes."""
    topics = topics.limit_to_project(candidate.project)
    if known := find_known(candidate, topics):
        return _update(candidate, Relation.KNOWN, known, topics)
    matches = find_matches(candidate, topics)
    if against := _find_opposed(candidate, matches):
        return _update(candidate, _choose_relation(candidate, against), against, topics)
    nearest = max(matches, key=lambda match: match.alike, default=None)
    if nearest and nearest.alike >= EXTENDS_FROM:
        return _update(candidate, Relation.EXTENDS, nearest, topics)
    return _update(candidate, Relation.NEW, None, topics)


def propose_addition(candidate: Candidate, topics: Topics) -> Update:
    """The update that only adds a candidate, whatever topics say."""
    place = choose_place(candidate, topics.limit_to_project(candidate.project))
    relation = Relation.EXTENDS if topics.file(place.target) else Relation.NEW
    return Update(candidate, relation, place, "You add it beside what is there.")


def find_rival(candidate: Candidate, topics: Topics) -> Match | None:
    """The statement of a topic that a person may have in mind with theirs: it says the same, something else in its
    place, or all of it but for one telling word on each side (`merged by Carol`, `merged by Dave`).
    """
    if known := find_known(candidate, topics):
        return known
    matches = find_matches(candidate, topics.limit_to_project(candidate.project))
    ours = read_statement(candidate.text).words
    alike = (match for match in matches if _differ_in_one_word(ours, match.statement.reading.words))
    return _find_opposed(candidate, matches) or max(alike, key=lambda match: match.alike, default=None)


def _find_opposed(candidate: Candidate, matches: list[Match]) -> Match | None:
    """The match that a candidate is sure enough to go against."""
    against = strongest(matches)
    is_sure = (
        against
        and against.contradiction >= CONTRADICTS_FROM
        and (candidate.extractor != RULES or against.alike >= SAME_SUBJECT)
    )
    return against if is_sure else None


def _differ_in_one_word(ours: Set[str], theirs: Set[str]) -> bool:
    return len(ours - theirs) == len(theirs - ours) == 1 and len(ours & theirs) >= LEAST_SHARED


def find_matches(candidate: Candidate, topics: Topics) -> list[Match]:
    """What a candidate has to do with every statement of every topic that shares a word with it."""
    reading = read_statement(candidate.text, candidate.context)
    return [
        make_match(reading, topic, statement, topics.rarity)
        for topic in topics.files
        for statement in topic.statements
        if reading.context & statement.reading.words
    ]


def strongest(matches: list[Match]) -> Match | None:
    """The match that speaks most against its statement."""
    return max(matches, key=lambda match: (match.contradiction, match.alike), default=None)


def is_worth_asking(update: Update) -> bool:
    """Whether an update deserves a person's minute.

    A statement that nothing in the topics speaks of must be sure by itself; one that corrects a topic is worth a look
    even where it was said in passing.
    """
    confidence = update.candidate.confidence
    if update.relation is Relation.KNOWN:
        return False
    if update.relation in AGAINST:
        return True
    return confidence >= (WORTH_EXTENDING if update.relation is Relation.EXTENDS else WORTH_NEW)


def find_known(candidate: Candidate, topics: Topics) -> Match | None:
    """The statement of a topic of its project, or of the person's own, that says the same already; of a candidate of
    several sentences that of the first, where topics say them all.
    """
    topics, text = topics.limit_to_project(candidate.project), candidate.text
    sentences = [replace(candidate, text=text[first:end]) for first, end in statement_spans(text)]
    known = [_find_same(one, topics) for one in sentences]
    return known[0] if known and all(known) else None


def _find_same(sentence: Candidate, topics: Topics) -> Match | None:
    reading = read_statement(sentence.text, sentence.context)
    matches = (
        make_match(reading, topic, statement, topics.rarity)
        for topic in topics.files
        for statement in topic.statements
        if reading.words <= statement.reading.words
    )
    return next((match for match in matches if match.is_known), None)


def make_match(ours: StatementReading, topic: TopicText, statement: TopicStatement, rarity: Rarity) -> Match:
    """What a statement has to do with one of a topic."""
    theirs = statement.reading
    around = theirs.words | frozenset(content_words(" ".join(statement.headings)))
    shared = ours.words & theirs.words
    smaller = min(ours.words, theirs.words, key=lambda words: weigh(words, rarity))
    alike = 0.5 * measure_share(ours.words & around, ours.words, rarity) + 0.5 * measure_share(shared, smaller, rarity)
    against = measure_contradiction(ours, theirs, rarity)
    says_same = bool(ours.words) and ours.words <= theirs.words and ours.values <= theirs.values
    says_same = says_same and against.score < CONTRADICTS_FROM and ours.denies == theirs.denies
    if says_same and are_turned_round(ours.text, theirs.text):
        return Match(topic, statement, alike, 1.0, is_known=False, why="the same words the other way round")
    return Match(topic, statement, alike, against.score, says_same, against.why)


def _choose_relation(candidate: Candidate, match: Match) -> Relation:
    spoken, written = find_day(candidate), match.statement.date
    if spoken and written and spoken < written:
        return Relation.EARLIER
    words = " ".join([*(quote.text for quote in candidate.quotes), candidate.text])
    if CHANGE.search(words) or candidate.kind is Kind.CORRECTION:
        return Relation.SUPERSEDES
    decides = candidate.kind in (Kind.DECISION, Kind.PREFERENCE, Kind.RULE)
    is_old = bool(spoken and written and spoken - written > dt.timedelta(days=DRIFT_DAYS))
    is_drift = decides and is_old and not REASON.search(words)
    return Relation.DRIFT if is_drift else Relation.CONTRADICTS


def find_day(candidate: Candidate) -> dt.date | None:
    """When a statement was last said, or the file that says it last written."""
    return max((local_day(words.time) for words in candidate.evidence if words.time), default=None)


def find_outdated(updates: Sequence[Update]) -> dict[int, Update]:
    """Those of some updates that another one of their project speaks against which was said later: the newer counts.

    By their place; each as a question that says what took its place.
    """
    readings = [read_statement(update.candidate.text, update.candidate.context) for update in updates]
    rarity = measure_rarity(update.candidate.text for update in updates)
    found: dict[int, Update] = {}
    for pair in pairs_of_one_thing(readings):
        if are_apart(*(updates[place].candidate.project for place in pair)):
            continue
        old, new = sorted(pair, key=lambda place: find_day(updates[place].candidate) or dt.date.max)
        before, after = find_day(updates[old].candidate), find_day(updates[new].candidate)
        if before is None or after is None or before >= after or {old, new} & found.keys():
            continue
        against = measure_contradiction(readings[new], readings[old], rarity)
        if against.score >= CONTRADICTS_FROM:
            words = updates[new].candidate.text[:SHOWN_CHARS]
            why = f"said otherwise on {after.isoformat()}, “{words}”: {against.why}."
            found[old] = replace(updates[old], relation=Relation.EARLIER, why=why)
    return found


def pairs_of_one_thing(readings: Sequence[StatementReading]) -> Iterator[tuple[int, int]]:
    """The pairs of statements, by their places, that tell nearly all of the shorter one in the same words."""
    for one, other in near_pairs(readings):
        mine, theirs = readings[one].words, readings[other].words
        if len(mine & theirs) >= ONE_THING * min(len(mine), len(theirs)):
            yield one, other


def near_pairs(readings: Sequence[StatementReading]) -> list[tuple[int, int]]:
    """The pairs of statements that share enough telling words to be about one thing, by their places, in order."""
    holders: dict[str, list[int]] = defaultdict(list)
    for place, reading in enumerate(readings):
        for word in reading.words:
            holders[word].append(place)
    # how many telling words each pair of statements shares
    telling = (places for places in holders.values() if len(places) <= MAX_HOLDERS)
    shared = Counter(pair for places in telling for pair in combinations(places, 2))
    return sorted(pair for pair, count in shared.items() if count >= LEAST_SHARED)


def _update(candidate: Candidate, relation: Relation, match: Match | None, topics: Topics) -> Update:
    place = find_place(match) if match and relation in AGAINST else choose_place(candidate, topics)
    where = f"{match.topic.path}:{match.statement.lines.first} " if match else ""
    return Update(candidate, relation, place, where + SENTENCES[relation].format(match.why if match else ""))


def find_place(match: Match) -> Place:
    """The place of the statement that gives way."""
    lines, statement = match.statement.lines, match.statement
    return Place(
        match.topic.path,
        lines.first - 1,
        replaces=LineRange(lines.first, lines.last),
        old_text="".join(match.topic.lines[lines.first - 1 : lines.last]),
        kept_before=statement.before,
        kept_after=statement.after,
    )


# -- a line that somebody calls wrong -------------------------------------------------------------------------------


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
    topic = exact or find_topic(match["name"], project, topics) or next(named, None)
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
