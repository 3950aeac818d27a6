"""What a reader made of one session: the one record that digests, typed lines, habits and candidates are chosen from.

A reader may be a model that was misled by what it read, so a line is a claim: its quotes were found in the session
before it was kept, and whoever uses it asks `proof.py` whether they say it. Lines that do not hold up are kept too: the
model was paid for them, and a better proof may let them pass without asking again.
"""

from enum import StrEnum

import msgspec

from crawler.quotes import Quote


class LineKind(StrEnum):
    """What a line says."""

    DECISION = "decision"  # what was chosen, of what the work is or how it is built
    RULE = "rule"  # what is always or never done
    PREFERENCE = "preference"  # how the person likes it
    CORRECTION = "correction"  # something that was believed is wrong
    FACT = "fact"  # how something named is
    FINDING = "finding"  # what the assistant found out, and nobody took back
    LESSON = "lesson"  # an error, and what then worked
    HABIT = "habit"  # what the person asks for again and again
    IDEA = "idea"  # steps that could be one command


class Holds(StrEnum):
    """How long a line holds."""

    SURELY = "surely"
    PROBABLY = "probably"
    NOW = "for now"


class Outcome(StrEnum):
    """How a session ended."""

    SHIPPED = "shipped"
    PARTIAL = "partial"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One statement of a session."""

    kind: LineKind
    text: str  # plain words that can be understood alone
    quotes: tuple[Quote, ...]  # its own words first; never empty
    holds: Holds = Holds.PROBABLY
    takes_back: str = ""  # what it ends: an older statement in the reader's words, or the line of a topic
    questions: tuple[str, ...] = ()  # that it answers; indexed, never shown
    topic: str = ""  # where the reader would file it: name, or name#section


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person asked for in few words, to be counted over sessions."""

    words: str  # the telling words, sorted
    quote: Quote


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that failed, and what then worked."""

    template: str  # the error without numbers, paths and ids
    entry: str  # of the call
    error: str
    worked: str = ""  # the command that then did it; empty where none is known


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one reader made of one session in one state."""

    session_id: str
    mark: str  # of the state that was read
    reader: str  # rules, claude-cli, ...
    version: int  # of the prompt, or of the rules
    project: str = ""
    title: str = ""
    goal: str = ""
    outcome: Outcome = Outcome.UNKNOWN
    proof: str = ""  # the entry that shows how it ended: a commit, a passing test, a yes
    open: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    requests: tuple[Request, ...] = ()  # counted by the program, whoever read
    failures: tuple[Failure, ...] = ()  # likewise
    unfounded: tuple[str, ...] = ()  # statements whose quotes are not in the session
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def is_by_model(self) -> bool:
        return self.reader != RULES


RULES = "rules"  # the reader that asks nobody
