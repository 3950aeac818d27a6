"""Habits: the same steps one after the other in two or more sessions; and ideas, where a person wished for a script.

Of runs of steps that overlap the one is kept that was taken most often for its length. A habit rests on the calls
themselves; the words of the person beside them say what it is good for.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from crawler.archive.store import Archive
from crawler.quotes import Quote, SessionTurns, make_quote
from crawler.reading.repeats import MIN_SESSIONS, is_same_request, telling
from crawler.reading.rules import find_typed_sentences
from dream.evidence import Evidence
from memory_server.errors import ContentError
from memory_server.language.words import content_words
from parts.taking_over.deeds import GAP, IDEA, Deeds, Habit, Occurrence, find_deeds, format_command

MIN_STEPS, MAX_STEPS = 3, 7  # two steps are done together for many reasons; more than seven never came back
MIN_EXACT = 2  # steps that are the same to the last word: a skill that is mostly gaps tells nobody anything
SAME_STEPS = 0.5  # share of the steps of two habits, from which they are variants of one
SHARED_WORDS = 2  # of the steps' names, in words that speak of them
MAX_QUOTES, MAX_QUOTE_CHARS = 5, 160


def read_habits(archive: Archive) -> tuple[list[Habit], list[list[Quote]]]:
    """The habits that an archive shows, and the ideas in it, those that say the same together; the most frequent first.

    A session that cannot be read is passed over.
    """
    evidence, deeds, ideas = Evidence(archive), list[Deeds](), list[Quote]()
    for session_id in archive.session_ids():
        with suppress(ContentError):
            session = evidence.session(session_id)
            deeds += find_deeds(session)
            ideas += find_ideas(session)
    return find_habits(deeds), sorted(same_ideas(ideas), key=lambda group: -len({one.session_id for one in group}))


def find_ideas(session: SessionTurns) -> Iterator[Quote]:
    """Where the person wished that something they do were a script, a command or a skill."""
    for turn in session.turns:
        for first, end in find_typed_sentences(turn) if turn.is_prompt else ():
            if IDEA.search(turn.text[first:end]):
                yield make_quote(session, turn, first, end)


def same_ideas(ideas: Iterable[Quote]) -> list[list[Quote]]:
    """Ideas that say the same, together."""
    groups: list[list[Quote]] = []
    for idea in ideas:
        words = telling(idea.text)
        same = next((group for group in groups if is_same_request(telling(group[0].text), words)), None)
        if same is None:
            groups.append([idea])
        else:
            same.append(idea)
    return groups


def find_habits(deeds: Sequence[Deeds]) -> list[Habit]:
    """What was done the same way in several sessions, what was done most first."""
    found: dict[tuple[str, ...], dict[str, tuple[Deeds, Occurrence]]] = {}  # by the steps, and the call that begins it
    for one in deeds:
        keys = tuple(deed.key for deed in one.deeds)
        for first in range(len(keys) - MIN_STEPS + 1):
            for end in range(first + MIN_STEPS, min(len(keys), first + MAX_STEPS) + 1):
                if len(set(keys[first:end])) >= end - first - 1:  # back and forth between two things leads nowhere
                    times = found.setdefault(keys[first:end], {})
                    times.setdefault(one.deeds[first].entry, (one, one.part(first, end)))  # a fork repeats entries
    habits = []
    for part, times in found.items():
        of_session = {one.session.session_id: (one, done) for one, done in times.values()}.values()
        steps = [format_command(step) for step in zip(*(done.commands for _, done in of_session), strict=True)]
        if len(of_session) >= MIN_SESSIONS and sum(GAP not in step for step in steps) >= MIN_EXACT:
            habits.append(_habit(part, list(of_session), steps))
    return _apart(habits)


def _habit(keys: tuple[str, ...], times: Sequence[tuple[Deeds, Occurrence]], steps: Sequence[str]) -> Habit:
    projects = {one.session.project for one, _ in times}
    ordered = sorted((done for _, done in times), key=lambda done: (str(done.time), done.session_id))
    about = {word for step in steps for word in content_words(step)}
    quotes = [quote for one, _ in times for quote in _find_quotes(one, about)]
    return Habit(projects.pop() if len(projects) == 1 else "", keys, tuple(ordered), tuple(quotes[:MAX_QUOTES]))


def _find_quotes(deeds: Deeds, about: set[str]) -> list[Quote]:
    """What the person said of it, if anything: an idea, else the clause with most of the words of its steps."""
    quotes = [make_quote(deeds.session, turn, *span) for turn in deeds.requests for span in find_typed_sentences(turn)]
    ranks = [
        (1 + len(about) if IDEA.search(one.text) else len(about.intersection(content_words(one.text))), one)
        for one in quotes
        if len(one.text) <= MAX_QUOTE_CHARS
    ]
    return [one for rank, one in sorted(ranks, key=lambda rank: -rank[0])[:1] if rank >= SHARED_WORDS]


def _apart(habits: Sequence[Habit]) -> list[Habit]:
    """Those that are no variants of each other."""
    chosen: list[Habit] = []
    for habit in sorted(habits, key=lambda one: (-len(one.times) * (len(one.keys) - 1), -len(one.keys), one.keys)):
        if not any(_measure_overlap(habit.keys, other.keys) > SAME_STEPS for other in chosen):
            chosen.append(habit)
    return chosen


def _measure_overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of the steps of the shorter that the longer takes too."""
    ours, theirs = set(one), set(other)
    return len(ours & theirs) / min(len(ours), len(theirs))
