"""Habits: the same steps one after the other in two or more sessions; and ideas, where a person wished for a script.

Of runs of steps that overlap the one is kept that was taken most often for its length. A habit rests on the calls
themselves; the words of the person beside them say what it is good for.
"""

from collections.abc import Iterable, Iterator, Sequence

from dream.evidence import SessionTurns, quote_of
from dream.records import Occurrence, Habit, Quote
from dream.statements.acts import Act, clauses_of
from dream.statements.deeds import GAP, IDEA, Deeds, shown_command
from dream.statements.mistakes import MIN_SESSIONS, is_same_correction, telling
from memory_server.language.words import content_words

MIN_STEPS, MAX_STEPS = 3, 7  # two steps are done together for many reasons; more than seven never came back
MIN_EXACT = 2  # steps that are the same to the last word: a skill that is mostly gaps tells nobody anything
SAME_STEPS = 0.5  # share of the steps of two habits, from which they are variants of one
SHARED_WORDS = 2  # of the steps' names, in words that speak of them
MAX_QUOTES, MAX_QUOTE_CHARS = 5, 160
NOT_THEIRS = (Act.QUOTES, Act.PLAYS)


def ideas_in(session: SessionTurns) -> Iterator[Quote]:
    """Where the person wished that something they do were a script, a command or a skill."""
    for turn in session.turns:
        for clause in clauses_of(turn) if turn.is_prompt else ():
            if IDEA.search(clause.text) and clause.act not in NOT_THEIRS:
                yield quote_of(session, turn, clause.first, clause.end)


def same_ideas(ideas: Iterable[Quote]) -> list[list[Quote]]:
    """Ideas that say the same, together."""
    groups: list[list[Quote]] = []
    for idea in ideas:
        words = telling(idea.text)
        same = next((group for group in groups if is_same_correction(telling(group[0].text), words)), None)
        if same is None:
            groups.append([idea])
        else:
            same.append(idea)
    return groups


def habits_of(runs: Sequence[Deeds]) -> list[Habit]:
    """What was done the same way in several sessions, what was done most first."""
    found: dict[tuple[str, ...], dict[str, tuple[Deeds, Occurrence]]] = {}  # by the steps and the call that begins it
    for run in runs:
        keys = [deed.key for deed in run.deeds]
        for first in range(len(keys) - MIN_STEPS + 1):
            for end in range(first + MIN_STEPS, min(len(keys), first + MAX_STEPS) + 1):
                part = tuple(keys[first:end])
                if len(set(part)) >= len(part) - 1:  # back and forth between two things is no way anywhere
                    entry = run.deeds[first].entry  # a fork repeats entries
                    found.setdefault(part, {}).setdefault(entry, (run, run.part(first, end)))
    habits = []
    for keys, times in found.items():
        by_session = {run.session.session_id: (run, done) for run, done in times.values()}
        exact = [GAP not in shown_command(step) for step in zip(*(done.commands for _, done in by_session.values()), strict=True)]
        if len(by_session) >= MIN_SESSIONS and sum(exact) >= MIN_EXACT:
            habits.append(_habit(keys, list(by_session.values())))
    return _apart(habits)


def _habit(keys: tuple[str, ...], times: Sequence[tuple[Deeds, Occurrence]]) -> Habit:
    projects = {run.session.project for run, _ in times}
    ordered = sorted((done for _, done in times), key=lambda done: (str(done.time), done.session_id))
    steps = zip(*(done.commands for done in ordered), strict=True)
    about = {word for step in steps for word in content_words(shown_command(step))}
    quotes = [quote for run, _ in times for quote in _asked(run, about)]
    return Habit(projects.pop() if len(projects) == 1 else "", keys, tuple(ordered), tuple(quotes[:MAX_QUOTES]))


def _asked(run: Deeds, about: set[str]) -> list[Quote]:
    """What the person said of a run, if anything: an idea, else the clause with most of the steps' words."""
    clauses = [(turn, one) for turn in run.asked for one in clauses_of(turn) if one.act not in NOT_THEIRS]
    ranked = sorted(
        ((1 if IDEA.search(one.text) else 0, len(about & set(content_words(one.text))), turn, one) for turn, one in clauses
         if len(one.text) <= MAX_QUOTE_CHARS),
        key=lambda rank: rank[:2],
        reverse=True,
    )
    return [quote_of(run.session, turn, one.first, one.end) for idea, shared, turn, one in ranked[:1] if idea or shared >= SHARED_WORDS]


def _apart(habits: Sequence[Habit]) -> list[Habit]:
    """Those that are no variants of each other."""
    kept: list[Habit] = []
    for habit in sorted(habits, key=lambda one: (-len(one.times) * (len(one.keys) - 1), -len(one.keys), one.keys)):
        if not any(_shared(habit.keys, other.keys) > SAME_STEPS for other in kept):
            kept.append(habit)
    return kept


def _shared(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of the steps of the shorter that the longer takes too."""
    ours, theirs = set(one), set(other)
    return len(ours & theirs) / min(len(ours), len(theirs))
