"""The chain of decisions as one process adds to it: what it decided itself, and signs at the end."""

import datetime as dt
import os
import secrets
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from dream.decisions.approvals import Approvals
from dream.decisions.chain import Chain, ChainEntry, make_entry
from dream.decisions.key import fingerprint
from dream.decisions.presence import Consent, How, ancestors
from dream.proposals.store import Approval, Event, ProposalStore
from dream.records import Rejection, make_hunk_id

MAX_NOTED = 12  # processes above a decision


class DecisionLog:
    """What was decided in one memory root. Call it under the lock of `accept.py`."""

    def __init__(self, store: ProposalStore, signing_key: str, now: Callable[[], dt.datetime]):
        self._store = store
        self._key = signing_key
        self._now = now
        self.own: list[str] = []  # hashes of the entries of this sitting which are still to be signed

    @property
    def chain(self) -> Chain:
        """The chain as it lies on the disk now."""
        return Chain(self._store.root, self._key, self.own)

    def approvals(self) -> Approvals:
        """The approvals; where they are kept for the first time, what is there is noted as found."""
        approvals = Approvals(self._store.root, self._store, self.chain)
        if approvals.is_new and (found := approvals.present()):
            approval = Approval(Event.FOUND, self._now(), tuple(found), nonce=new_nonce())
            self.chain.add([make_entry(approval, "")])
            self._store.add_approval(approval)
            return Approvals(self._store.root, self._store, self.chain)
        return approvals

    def rejections(self) -> list[Rejection]:
        """What was turned down by a decision of the chain."""
        chain = self.chain
        rejected = ((at, one) for at, one in enumerate(chain.entries) if one.event is Event.REJECTED)
        decided = {entry.hunk for at, entry in rejected if chain.counts(at)}
        found = [one for one in self._store.rejections() if one.hunk in decided]
        return [one for one in found if one.hunk == make_hunk_id(one.evidence, one.target)]

    def entry(self, approval: Approval, consent: Consent) -> ChainEntry:
        """An entry with where it came from, as the system tells."""
        above = list(islice(ancestors(os.getpid()), MAX_NOTED))
        terminal = above[0].terminal if above else ""
        return make_entry(approval, consent.how, terminal, [process.name for process in above])

    def entry_without_files(self, event: Event, consent: Consent, hunk: str = "") -> ChainEntry:
        """An entry of a decision that changes no file."""
        return self.entry(Approval(event, self._now(), (), hunk=hunk, nonce=new_nonce()), consent)

    def add(self, entry: ChainEntry) -> None:
        """Adds a decision that changes no file."""
        self.own += self.chain.add([entry])

    def take_earlier(self) -> None:
        """Makes entries of the decisions from before there was a chain; nobody signed them."""
        if self.chain.is_kept:
            return
        rejected = (Approval(Event.REJECTED, one.at, (), hunk=one.hunk) for one in self._store.rejections())
        entries = [make_entry(one, "") for one in (*self._store.approvals(), *rejected)]
        self.chain.add(sorted(entries, key=lambda entry: entry.at))

    def begin_anew(self, consent: Consent) -> None:
        """Begins a new chain where the one there is cannot go on."""
        if self.chain.trouble:
            begun = Approval(Event.BEGUN, self._now(), (), nonce=new_nonce())
            self.chain.begin_anew(self.entry(begun, consent))

    def sign(self, signature_of: Callable[[bytes], str]) -> None:
        """Signs the decisions of this sitting with one signature."""
        signing = self.entry(Approval(Event.SIGNED, self._now(), (), nonce=new_nonce()), Consent(How.KEY))
        covering = replace(signing, covers=tuple(self.own), key=fingerprint(self._key))
        self.chain.add([covering], signature_of)
        self.own = []


def new_nonce() -> str:
    """A name for one decision, by which its commit and its entry are known again."""
    return secrets.token_hex(8)
