"""What a skill made of a habit must pass before a person is asked, and once more before it is installed.

Nothing that the draft says is believed: the steps are looked up in the archive, where they must have been taken in just
this way in two sessions or more, and so are the quotes. The whole text that a client would read is then searched for
secrets, for what a reader cannot see, and for what speaks to an assistant.
"""

import re
from collections.abc import Iterator

from crawler.reading.repeats import MIN_SESSIONS
from crawler.transcripts.injected import OWN_SESSION_MARK, TAG
from crawler.transcripts.turns import Role
from dream.evidence import Evidence
from dream.judge.gate import Refusal, RefusalReason, is_deceptive
from memory_server.language.cues import INJECTION, ORDERS_ASSISTANT
from memory_server.redaction import Redactor
from parts.taking_over.deeds import Habit, Occurrence, find_deeds

JOINED = re.compile(r"[-_./]+")  # what a sentence in a name has instead of spaces


def refusals_of_skill(habit: Habit, text: str, evidence: Evidence, redactor: Redactor) -> tuple[Refusal, ...]:
    """Every reason against a skill with this text, each once; none where it passes."""
    return tuple(dict.fromkeys(_refusals(habit, text, evidence, redactor)))


def _refusals(habit: Habit, text: str, evidence: Evidence, redactor: Redactor) -> Iterator[Refusal]:
    for done in habit.times:
        if not _was_done(done, habit.keys, evidence):
            yield Refusal(RefusalReason.NOT_FOUND, f"Session {done.session_id[:8]} did not take these steps.")
    sessions = {done.session_id for done in habit.times}
    if min(len(sessions), len({done.entries[:1] for done in habit.times})) < MIN_SESSIONS:
        yield Refusal(RefusalReason.NOT_REPEATED, "A skill needs the same steps in two sessions, each with its calls.")
    for quote in habit.quotes:
        if quote.role is not Role.PERSON or quote.session_id not in sessions or evidence.find_turn(quote) is None:
            yield Refusal(RefusalReason.NOT_FOUND, f"`{quote.entry[:8]}` does not say exactly this at this place.")
    if redactor.redact(text).spans or "[redacted:" in text:
        yield Refusal(RefusalReason.SECRET, "The skill would hold what looks like a secret.")
    if is_deceptive(text):
        yield Refusal.of(RefusalReason.HIDDEN)
    if any(speaks_to_assistant(part) for part in (text, JOINED.sub(" ", text))):
        yield Refusal(RefusalReason.INSTRUCTION, "The skill would speak to an assistant in words of somebody's.")


def speaks_to_assistant(text: str) -> bool:
    """Whether a text holds what reads as if it were said to an assistant."""
    return bool(INJECTION.search(text) or ORDERS_ASSISTANT.search(text)) or TAG in text or OWN_SESSION_MARK in text


def _was_done(done: Occurrence, keys: tuple[str, ...], evidence: Evidence) -> bool:
    """Whether a session took these steps one after the other, and each call succeeded."""
    count = len(keys)
    parts = (
        run.part(first, first + count)
        for run in find_deeds(evidence.session(done.session_id))
        for first in range(len(run.deeds) - count + 1)
        if tuple(deed.key for deed in run.deeds[first : first + count]) == keys
    )
    return done in parts
