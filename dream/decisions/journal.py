"""Decisions that are carried out whole or not at all: files, commit, what is noted, and hunks.

What is to be done is written down first and struck out last. Each step can be repeated, so that the next process goes
on wherever the last one was killed. A file that somebody else has changed in between is never overwritten, and a plan
that names any file but those of layer 1 is not carried out. What one process decides it adds to the chain of decisions,
and signs at the end.
"""

import datetime as dt
import logging
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec

from dream.changes import Event, FileChange, check_path, hash_text
from dream.decisions.approvals import Approvals
from dream.decisions.chain import Chain, ChainEntry, hash_changes, make_entry
from dream.decisions.key import fingerprint
from dream.decisions.presence import Consent, How, ancestors
from dream.decisions.repository import Repository, require_rest
from dream.proposals.store import Approval, ProposalStore
from dream.records import Hunk, Rejection, make_hunk_id
from memory_server.errors import ContentError, NeedsRepair
from memory_server.layers.topics import read_text
from memory_server.machine.files import replace_file

logger = logging.getLogger(__name__)
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
        approvals = Approvals(self._store.root, self.chain)
        if approvals.is_new and (found := approvals.present()):
            approval = Approval(Event.FOUND, self._now(), tuple(found), nonce=new_nonce())
            self.chain.add([make_entry(approval, "")])
            self._store.add_approval(approval)
            return Approvals(self._store.root, self.chain)
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

    def begin_anew(self, consent: Consent) -> None:
        """Begins a new chain where the one there is cannot go on."""
        if self.chain.trouble:
            self.chain.begin_anew(self.entry_without_files(Event.BEGUN, consent))

    def sign(self, signature_of: Callable[[bytes], str]) -> None:
        """Signs the decisions of this sitting with one signature."""
        signing = self.entry_without_files(Event.SIGNED, Consent(How.KEY))
        covering = replace(signing, covers=tuple(self.own), key=fingerprint(self._key))
        self.chain.add([covering], signature_of)
        self.own = []


def new_nonce() -> str:
    """A name for one decision, by which its commit and its entry are known again."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class Noted:
    """A decision as it is noted: its entry in the chain, and beside it the words of a yes or of a no."""

    entry: ChainEntry
    approval: Approval | None = None
    rejection: Rejection | None = None

    @property
    def changes(self) -> tuple[FileChange, ...]:
        return self.approval.files if self.approval else ()


@dataclass(frozen=True, slots=True)
class Plan:
    """One change from its first step to its last."""

    texts: Mapping[str, str | None]  # that files are to get, the target first; None removes one
    noted: Annotated[tuple[Noted, ...], msgspec.Meta(min_length=1)]  # several in one commit where of one topic
    hunks: tuple[Hunk, ...]  # as they are to be saved
    message: str = ""  # of the commit; empty where none is wanted
    moved: tuple[tuple[str, Hunk], ...] = ()  # hunks whose file has another name, by the id that they had

    @property
    def old_hashes(self) -> dict[str, str]:
        """The hash of each file that changes, as it stands; empty where there is none."""
        return {one.path: one.before for noted in reversed(self.noted) for one in noted.changes}

    @property
    def name(self) -> str:
        """By which its commit is known again."""
        return self.noted[0].entry.nonce


class Journal:
    """The plan under way of one memory root, if any. Call under the lock of `accept.py`."""

    def __init__(self, store: ProposalStore, repository: Repository | None, log: DecisionLog):
        self._store = store
        self._repository = repository
        self._log = log
        self._file = store.root.journal

    def carry_out(self, plan: Plan) -> None:
        """Does everything, or raises before anything is done; behind what a plan before it has left half done."""
        self.finish()
        self._log.chain.require_sound()
        if plan.message and self._repository is not None:
            self._repository.require_unfiltered(list(plan.texts))
        replace_file(self._file, msgspec.json.encode(plan))
        logger.debug("planned")
        added = self._complete_plan(plan)
        if added is None:
            what = "a file of it has changed meanwhile"
            raise ContentError(what, where=next(iter(plan.texts)), remedy="Look at it again")
        self._log.own += added

    def finish(self) -> bool:
        """Goes on with what a killed process has begun; whether there was anything. This sitting does not sign it."""
        plan = self._read_plan()
        if plan is not None and self._complete_plan(plan) is None:
            logger.warning("an interrupted decision was given up: %s has changed since", next(iter(plan.texts)))
        return plan is not None

    def _complete_plan(self, plan: Plan) -> list[str] | None:
        """Does what is left of a plan; the hashes of the entries that were added, None where it was given up."""
        files = self._write_files(plan)
        if files is None:
            self._file.unlink()
            return None
        if plan.message and self._repository is not None:
            self._commit(self._repository, plan, files)
        added: list[str] = []
        for noted in plan.noted:
            changes = tuple(change for change in noted.changes if change.path in files)
            if noted.approval:
                self._store.add_approval(replace(noted.approval, files=changes))
            logger.debug("approval noted")
            added += self._log.chain.add([replace(noted.entry, files=hash_changes(changes))])
            logger.debug("entry added")
            if noted.rejection:  # behind its entry: what has none is taken for one from before there was a chain
                self._store.add_rejection(noted.rejection)
        for was, hunk in (*((hunk.id, hunk) for hunk in plan.hunks), *plan.moved):
            self._store.save_hunk(hunk, was)
            logger.debug("hunk saved")
        self._file.unlink()
        logger.debug("struck out")
        return added

    def _read_plan(self) -> Plan | None:
        try:
            plan = msgspec.json.decode(self._file.read_bytes(), type=Plan)
            for path in (*plan.texts, *plan.old_hashes):
                check_path(self._store.root, path)
        except FileNotFoundError:
            return None
        except (msgspec.MsgspecError, ContentError) as error:
            what = f"the plan of an acceptance cannot be carried out ({error})"
            raise NeedsRepair(what, where=self._file, remedy="Look at it, then remove it") from error
        return plan

    def _write_files(self, plan: Plan) -> Mapping[str, bytes | None] | None:
        """Writes what is not written yet.

        None where the target is another than either state of it, or where it is as before and another file is not.
        """
        done: dict[str, bytes | None] = {}
        root, before = self._store.root, plan.old_hashes
        present = {path: hash_text(_text(root.path / path)) for path in plan.texts}
        wanted = {path: hash_text(text) for path, text in plan.texts.items()}
        changed = {path for path in plan.texts if present[path] not in (before.get(path), wanted[path])}
        target = next(iter(plan.texts), "")
        if target in changed or (target and present[target] != wanted[target] and changed - {root.index_page.name}):
            return None
        for path, text in plan.texts.items():
            if path in changed:
                if path != root.index_page.name:  # which gets its pointers anew with the next change
                    logger.warning("%s has changed since and stays as it is", path)
                continue
            if present[path] != wanted[path]:
                if text is None:
                    (root.path / path).unlink(missing_ok=True)
                else:
                    replace_file(root.path / path, text)
            done[path] = text.encode("utf-8") if text is not None else None
            logger.debug("file written")
        return done

    def _commit(self, repository: Repository, plan: Plan, files: Mapping[str, bytes | None]) -> None:
        ours = {path: content for path, content in files.items() if not repository.ignores(path)}
        wanted = {path: content for path, content in ours.items() if content is not None or repository.has(path)}
        if wanted and not repository.find_commit(plan.name):
            require_rest(repository)
            scratch = self._store.root.derived_folder
            scratch.mkdir(parents=True, exist_ok=True)
            repository.commit(wanted, plan.message, scratch)
            logger.debug("committed")
        repository.refresh_index(ours)  # of a removed file too, which the commit may be without already
        logger.debug("index refreshed")


def _text(file: Path) -> str | None:
    return read_text(file) if file.exists() else None
