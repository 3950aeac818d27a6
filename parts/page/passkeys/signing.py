"""What waits for a passkey: a registration that a terminal began, and choices that a page wants signed.

All of it lives in the daemon's memory, is handed out once and ends within minutes. Choices are frozen to the last byte
of what they will do before the passkey is asked, so that what it signs is what is done.
"""

import datetime as dt
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from dream.changes import Event, hash_text
from dream.decisions.accept import Decided, Decisions, Foreseen
from dream.decisions.chain import ChainEntry, ChoiceHashes
from dream.decisions.page import Chosen
from dream.decisions.passkey import Passkey, require_signed
from dream.decisions.presence import Consent, How
from dream.proposals.placing import Manner
from dream.proposals.rendering import Step, diff_steps, make_diff
from dream.records import Hunk
from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.machine.clock import local_day
from parts.page.passkeys.browser import (
    ANSWER_SECONDS,
    encode_base64,
    options_to_make,
    options_to_sign,
    parse_assertion,
    verify_passkey,
)

ANSWER_LIFE = dt.timedelta(seconds=ANSWER_SECONDS)
REGISTRATION_LIFE = dt.timedelta(minutes=5)
NONCE_BYTES = 32
BEGIN = "Begin anew: `oneiros key passkey` in a terminal of your own"
LOOK = "Look at what is shown anew, and sign that"
NO_PASSKEY = "Register one: `oneiros key passkey` in a terminal of your own"


def hash_shown(decisions: Decisions, hunk: Hunk) -> str:
    """What tells one sight of a hunk from another: its words, its sources, and what it changes in its file.

    The day of the change, which the file gets too, is left out: what was chosen yesterday holds today.
    """
    steps = diff_steps(decisions.root, [hunk], Manner(hunk.found))
    diff = "".join(make_diff(step.path, step.before, step.after) for step in steps)
    return hash_text(msgspec.json.encode(hunk).decode() + diff)


def list_steps(decisions: Decisions, hunk: Hunk) -> list[Step]:
    """What a hunk changes in its file as it is; nothing where it fits no longer."""
    return diff_steps(decisions.root, [hunk], Manner(local_day(decisions.now())))


@dataclass(frozen=True, slots=True)
class Frozen:
    """Choices that wait for their signature."""

    foreseen: Foreseen
    signing: ChainEntry  # but for its assertion
    origin: str
    end: dt.datetime


@dataclass(frozen=True, slots=True)
class Registration:
    """A passkey that a terminal waits for."""

    word: str  # sha256 of it
    name: str
    end: dt.datetime
    challenge: bytes = b""  # empty until a page asks, and once it was answered
    origin: str = ""
    passkey: Passkey | None = None  # once a page has made it


class PendingPasskeys:
    """Gives out challenges and takes their answers, each once. Safe between threads."""

    def __init__(self, now: Callable[[], dt.datetime]):
        self._now = now
        self._guard = threading.Lock()
        self._frozen: dict[str, Frozen] = {}  # by challenge
        self._registration: Registration | None = None

    # -- a new passkey ----------------------------------------------------------------------------------------------

    def begin(self, word: str, name: str) -> None:
        """Waits for one passkey, for whoever knows the word; an earlier registration ends."""
        with self._guard:
            self._registration = Registration(hash_text(word), name, self._now() + REGISTRATION_LIFE)

    def options_to_register(self, word: str, origin: str, known: Sequence[str]) -> dict[str, Any]:
        """What a page asks the browser. Raises UsageError for a word that is wrong, used or too old."""
        with self._guard:
            waiting = self._find_registration(word)
            challenge = secrets.token_bytes(NONCE_BYTES)
            self._registration = replace(waiting, challenge=challenge, origin=origin)
        return options_to_make(challenge, waiting.name, known)

    def register(self, word: str, answer: Mapping[str, Any]) -> Passkey:
        """Takes the passkey that a browser made, for the terminal. Raises UsageError where it does not count."""
        with self._guard:
            waiting = self._find_registration(word)
            self._registration = replace(waiting, challenge=b"")
            if not waiting.challenge:
                raise UsageError("no passkey was asked for", remedy=BEGIN)
            passkey = verify_passkey(answer, waiting.challenge, waiting.origin, waiting.name)
            self._registration = replace(waiting, challenge=b"", passkey=passkey)
            return passkey

    def take_registered(self, word: str) -> Passkey | None:
        """The passkey that the word has brought, handed out once; None where none has come yet."""
        with self._guard:
            found = self._registration
            if found is None or found.word != hash_text(word) or found.end <= self._now():
                raise UsageError("no passkey came in time", remedy=BEGIN)
            if found.passkey is not None:
                self._registration = None
            return found.passkey

    def _find_registration(self, word: str) -> Registration:
        found = self._registration
        if found is None or found.word != hash_text(word) or found.end <= self._now() or found.passkey is not None:
            raise UsageError("the word is wrong, used or too old", remedy=BEGIN)
        return found

    # -- decisions --------------------------------------------------------------------------------------------------

    def freeze(
        self, decisions: Decisions, choices: Sequence[Chosen], shown: Mapping[str, str], origin: str
    ) -> dict[str, Any]:
        """What a page asks the browser, so that these choices are signed. `shown`: what it showed, as `hash_shown`.

        Raises UsageError without a passkey of this page, ContentError where something is not as it was shown.
        """
        decided = [choice for choice in choices if choice.verdict != "later"]
        if not decided or len({choice.hunk for choice in decided}) < len(decided):
            raise UsageError("nothing is chosen, or something twice", remedy=LOOK)
        hunks = {hunk.id: hunk for hunk in decisions.store.hunks()}
        for choice in decided:
            hunk = hunks.get(choice.hunk)
            if hunk is None or shown.get(choice.hunk) != hash_shown(decisions, hunk):
                raise ContentError("it is not as it was shown", where=f"hunk {choice.hunk}", remedy=LOOK)
        known = [one.id for one in decisions.chain().passkeys().values() if one.origin == origin]
        if not known:
            raise UsageError(f"no passkey is registered for {origin}", remedy=NO_PASSKEY)
        foreseen = decisions.foreseen(decided, Consent(How.PASSKEY))
        hashes = tuple(_hash_choice(choice, shown[choice.hunk]) for choice in decided)
        signing = signing_entry(foreseen, hashes, decisions.now())
        with self._guard:
            end = self._now() + ANSWER_LIFE
            self._frozen = {name: one for name, one in self._frozen.items() if one.end > self._now()}
            self._frozen[encode_base64(signing.challenge)] = Frozen(foreseen, signing, origin, end)
        return options_to_sign(signing.challenge, known)

    def sign(self, decisions: Decisions, answer: Mapping[str, Any], origin: str) -> list[Decided]:
        """Decides what was frozen, if a passkey has signed it. Raises UsageError, and as `Decisions.carry_out` does."""
        assertion = parse_assertion(answer)
        with self._guard:
            frozen = self._frozen.pop(assertion.challenge, None)  # once, whatever comes of it
        if frozen is None or frozen.end <= self._now() or frozen.origin != origin:
            raise UsageError("nothing waits for this signature any more", remedy=LOOK)
        chain = decisions.chain()
        passkey = chain.passkeys().get(assertion.id)
        if passkey is None or passkey.origin != origin:
            raise UsageError("this passkey is not registered", remedy=NO_PASSKEY)
        signed = replace(frozen.signing, assertion=assertion)
        require_signed(passkey, signed.challenge, assertion, origin, chain.count_signatures(passkey))
        decided = decisions.carry_out(frozen.foreseen, signed)
        chain = decisions.chain()
        done = {
            name for place, name in enumerate(chain.entry_hashes) if name in signed.covers and chain.is_signed(place)
        }
        if len(done) < len(signed.covers):
            remedy = "`oneiros review` asks about them again"
            raise NeedsRepair("your decisions stand unsigned: they came out otherwise than planned", remedy=remedy)
        return decided


def signing_entry(foreseen: Foreseen, choices: tuple[ChoiceHashes, ...], at: dt.datetime) -> ChainEntry:
    """The entry that is to sign what is foreseen, but for its assertion."""
    covers = tuple(entry.name for entry in link_entries(foreseen.entries, foreseen.last))
    nonce = secrets.token_hex(NONCE_BYTES)
    return ChainEntry(Event.SIGNED, at, How.PASSKEY, nonce, previous=covers[-1], covers=covers, choices=choices)


def link_entries(entries: Sequence[ChainEntry], last: str) -> list[ChainEntry]:
    """Entries as they follow one another behind the one of this name."""
    found: list[ChainEntry] = []
    for entry in entries:
        found.append(replace(entry, previous=found[-1].name if found else last))
    return found


def _hash_choice(choice: Chosen, shown: str) -> ChoiceHashes:
    reason = hash_text(choice.reason) if choice.reason else ""
    return ChoiceHashes(choice.hunk, choice.verdict, shown, hash_text(choice.text), reason)
