"""An accepted statement as its person gives it to a team: signed for that team, with the decision it rests on.

What the person signs holds the words, the topic, the team's address and the entry of their chain of decisions, so that
nobody between them and the team's repository can change a word of it, or send it elsewhere. Where a passkey signed the
decision, the person's key names and so vouches for it.
"""

import datetime as dt
import hashlib
import re
from dataclasses import dataclass, replace

import msgspec
from msgspec import UNSET, UnsetType

from dream.changes import MAX_TARGET_CHARS, PLAIN, Event
from dream.decisions.chain import ChainEntry, Time
from dream.decisions.key import fingerprint, verify
from dream.decisions.passkey import Passkey, vouches
from dream.judge.gate import is_deceptive

NONCE = re.compile(r"[0-9a-f]{16}")
MAX_TEXT_CHARS = 4_000
MAX_PROJECT_CHARS = 100
MAX_PASSKEY_CHARS = 2_000  # of its public half; one of RSA with 4,096 bits has 700


@dataclass(frozen=True, slots=True)
class Publication:
    """One statement for a team."""

    nonce: str  # of the acceptance
    team: str  # address of its memory
    topic: str  # topics/mail.md
    project: str  # that it belongs to; empty: to all
    text: str  # on one line
    at: Time
    entry: str  # line of the acceptance in the person's chain
    covering: str  # line of the entry that signs that one
    key: str  # public half of the person's
    signature: str = ""
    passkey: Passkey | UnsetType = UNSET  # that signed `covering`, where not the key did

    @property
    def signed_bytes(self) -> bytes:
        """What the person's key signs."""
        return msgspec.json.encode(replace(self, signature=""))

    @property
    def decision(self) -> str:
        """The name of the acceptance in the person's chain."""
        return hashlib.sha256(self.entry.encode()).hexdigest()

    @property
    def target(self) -> str:
        """The team's topic: what a person accepted into their copy of one goes to the one it is a copy of."""
        return f"topics/{self.topic.removeprefix('topics/').removeprefix('team/')}"

    @property
    def label(self) -> str:
        """The name of its footnote."""
        return f"p{self.nonce}"

    def fault(self) -> str:
        """Why it does not count; empty where it does. Whose the key is must be known otherwise."""
        if not NONCE.fullmatch(self.nonce) or not PLAIN.fullmatch(self.topic) or len(self.topic) > MAX_TARGET_CHARS:
            return "it names no decision, or no topic"
        if not self.text.strip() or self.text != " ".join(self.text.split()) or len(self.text) > MAX_TEXT_CHARS:
            return f"its statement is not one line of at most {MAX_TEXT_CHARS} characters"
        if is_deceptive(self.text + self.project) or len(self.project) > MAX_PROJECT_CHARS or "\n" in self.project:
            return "it holds what a reader cannot see"
        try:
            entry, covering = (msgspec.json.decode(line, type=ChainEntry) for line in (self.entry, self.covering))
        except (msgspec.MsgspecError, RecursionError):
            return "its decision cannot be read"
        if entry.event is not Event.ACCEPTED or entry.nonce != self.nonce:
            return "it rests on no acceptance"
        if self.topic not in {file.path for file in entry.files}:
            return f"the decision it names is not about {self.topic}"
        if covering.event is not Event.SIGNED or self.decision not in covering.covers or not fingerprint(self.key):
            return "no key signed its decision"
        if not self._is_signed_by(covering):
            return "the signature of its decision is not by this key"
        return "" if verify(self.key, self.signed_bytes, self.signature) else "its signature is not by this key"

    def _is_signed_by(self, covering: ChainEntry) -> bool:
        if covering.assertion is UNSET:
            return verify(self.key, covering.signed_bytes, covering.signature)
        if self.passkey is UNSET or len(self.passkey.public_key) > MAX_PASSKEY_CHARS:
            return False
        return vouches(self.passkey, covering.challenge, covering.assertion)


def format_day(publication: Publication) -> str:
    """The day on which it was published, in UTC."""
    return publication.at.astimezone(dt.UTC).date().isoformat()
