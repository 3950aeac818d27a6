"""Keeps the indices of a memory level: with the disk, and with the model that a person wants.

What is indexed in detail stands in `index/`; here it is said what belongs to one run: passages, turns, the
stretches of what was said, and the scales by which scores are read.
"""

import logging
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memory_server.completeness import SkipKind, Skipped, how_level, select_skipped
from memory_server.document import Layer, SourcePath
from memory_server.embedding.engine import ModelInUse
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.vector_cache import TextHash
from memory_server.embedding.workers import EmbeddingControl
from memory_server.errors import ContentError, Problem
from memory_server.further import FurtherModels
from memory_server.index.build import EMBEDDING, UNFINISHED, Changes, Progress, Report
from memory_server.index.indices import Indices, NotOwner
from memory_server.index.ledger import Ledger, is_of_another_format
from memory_server.index.raw import RawIndex
from memory_server.index.stretch_index import StretchIndex
from memory_server.language.words import Stemmer
from memory_server.layers.index_page import write_index_page
from memory_server.layers.notes import bring_notes_level
from memory_server.layers.topics import Unapproved, is_topic
from memory_server.lifecycle.fading import Fading
from memory_server.lifecycle.findable import read_losses
from memory_server.machine.database import is_read_only
from memory_server.machine.files import remove_file, remove_other_folders, repairable, replace_file
from memory_server.machine.process import give_back_freed
from memory_server.root.forgetting import sessions_to_forget, strike_out
from memory_server.root.paths import MemoryRoot
from memory_server.search.ranking.calibration import calibrate
from memory_server.search.ranking.scoring import CALIBRATION_NOTE
from memory_server.settings import read_memory_settings
from memory_server.settings_file import change_setting

logger = logging.getLogger(__name__)

COMPACTED = "compacted"  # the note of the run of gc behind which room was given back
SMALL_CHANGE = 50  # sources that a search may index by itself before it answers
SMALL_REST = 300  # passages likewise that an interrupted run has left


def is_small(changes: Changes) -> bool:
    """Whether a search may wait for it."""
    return changes.count <= SMALL_CHANGE and changes.unfinished <= SMALL_REST


@dataclass(frozen=True, slots=True)
class Status:
    """What a memory holds and how its indices stand."""

    root: Path
    model: str
    model_reason: str
    sources: Mapping[Layer, int]  # on the disk
    topics: int  # of them, those below `topics/`
    passages: int  # searchable chunks of files, and stretches of what was said
    semantic: int  # of these, how many are found by meaning
    changed: int  # sources that differ from the ledger
    removed: int
    unfinished: int  # passages that a run under way, or one that was interrupted, has still to do
    problems: tuple[Problem, ...]
    index_bytes: int
    owner: str  # which process owns the root; empty where none does
    queries_logged: int = 0
    losses: tuple[str, ...] = ()  # what is found no more, although no command took it away
    used: tuple[int, int, int] = (0, 0, 0)  # sources that were found, opened, drilled into
    skipped: tuple[Skipped, ...] = ()  # what an answer lacks

    @property
    def level(self) -> str:
        """How far the indices are from the disk."""
        sessions = sum(one.count for one in self.skipped if one.kind is SkipKind.SESSION)
        return how_level(self.changed + self.removed, self.unfinished, self.owner, sessions)


class OneCount:
    """Counts what is embedded of files and of turns as one stage, which ends once."""

    def __init__(self, report_progress: Callable[[Progress], None]):
        self.turns = 0  # texts of them, once that is known
        self._files = 0
        self._report_progress = report_progress

    def of_files(self, step: Progress) -> None:
        if step.stage == EMBEDDING:
            self._files, step = step.total, Progress(EMBEDDING, step.done, step.total + self.turns)
        self._report_progress(step)

    def of_turns(self, step: Progress) -> None:
        self._report_progress(Progress(step.stage, self._files + step.done, self._files + step.total))


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The runs that change the indices of one root. Only the process that owns the root gets far."""

    root: MemoryRoot
    indices: Indices
    raw: RawIndex | None
    stretches: StretchIndex | None  # where the person wants them
    model: ModelInUse
    find_model: Callable[[str], ModelFiles]  # by name
    further: FurtherModels
    stemmer: Stemmer
    control: Callable[[], EmbeddingControl]
    fading: Callable[[], Fading] = Fading
    finished: Callable[[], None] = lambda: None  # called when a run has brought everything level
    unapproved: Unapproved = lambda _: {}
    uses: Callable[[], Mapping[SourcePath, int]] = dict  # of sources, which tells what stands on a page that is full

    def changes(self) -> Changes:
        """What a run would read or remove."""
        with repairable(self.root.derived_folder):
            return self.indices.changes()

    def list_skipped(self, changes: Changes, unfinished: int | None = None) -> list[Skipped]:
        """What an answer from the indices as they are lacks. `unfinished`: what `count_unfinished` says, if known."""
        with repairable(self.root.derived_folder):
            turns = self._count_unindexed()
            passages = self.count_unfinished(changes) if unfinished is None else unfinished
        behind = {SkipKind.CHANGE: changes.count, SkipKind.PASSAGE: passages, SkipKind.SESSION: turns}
        return [
            *select_skipped(changes.skipped),
            *(Skipped(kind, "", count) for kind, count in behind.items() if count),
        ]

    def refresh(self, report_progress: Callable[[Progress], None] = lambda _: None) -> Changes:
        """Indexes a small change, no large one and in no root of another process; returns what is still to be done.

        Where the indices may only be read that is all of it.
        """
        if is_read_only(self.root.derived_folder):
            return self.changes()
        self.point()
        with repairable(self.root.derived_folder):
            is_raw_behind = self._read_short_sessions(report_progress)
        changes = self.changes()
        if not is_small(changes) or (changes.is_empty and not is_raw_behind):  # notes are made of turns
            return changes
        try:
            self.reindex(report_progress)
        except NotOwner:
            return changes
        return Changes(unchanged=changes.unchanged)

    def _read_short_sessions(self, report_progress: Callable[[Progress], None]) -> bool:
        """Brings the turns level where few and short sessions are behind; whether there were such."""
        changed, removed = self.raw.changes() if self.raw is not None else ([], [])
        is_small = 0 < len(changed) + len(removed) <= SMALL_CHANGE
        if self.raw is None or not is_small or not self.raw.is_small(changed):
            return False
        return self.raw.bring_level(report_progress, waits=False) > 0

    def reindex(self, report_progress: Callable[[Progress], None], *, rebuild: bool = False) -> Report:
        """Brings everything level with the disk. Raises NeedsRepair where another process owns the root."""
        with repairable(self.root.derived_folder):
            is_old = self.stretches is not None and (rebuild or is_of_another_format(self.stretches.file))
            is_new = rebuild or is_of_another_format(self.root.ledger)
            faded = set() if is_new or not self._is_behind_gc() else self._collect_texts()  # `gc undo` wants them again
            embedding = OneCount(report_progress)
            report = self.indices.reindex(
                self.model.engine,
                self.control(),
                embedding.of_files,
                rebuild=is_new,
                begin=lambda: self._begin(rebuild=rebuild),
                read_more=lambda: self._read_turns(embedding, report_progress, rebuild=rebuild),
                finish=lambda: self._finish(report_progress),
            )
            if self.stretches is not None:
                self.stretches.embed(self.control(), embedding.of_turns)
                if not self.stretches.is_empty:
                    if is_old:
                        with self.indices.search_lock.exchanging():
                            self.forget_vectors()
                    self._weigh(self.stretches, report_progress)
                self._calibrate_stretches()
            if self._is_behind_gc():
                self.erase_removed(faded)
                self.indices.ledger.set_note(COMPACTED, self.fading().run)
        give_back_freed()  # what the tables and scales were made of
        self.finished()
        logger.info("%d sources read, %d removed, %.1f s", report.changed, report.removed, report.seconds)
        return report

    def _is_behind_gc(self) -> bool:
        """Whether a run of gc, or its undoing, has not given back its room yet."""
        return self.fading().run != self.indices.ledger.note(COMPACTED)

    def find_forgotten(self) -> frozenset[str]:
        """The sessions to be forgotten that are out of the archive; one that is still there is not struck out yet."""
        noted = sessions_to_forget(self.root)
        return noted.difference(self.raw.store.marks()) if noted and self.raw is not None else noted

    def forget(
        self, session_ids: Collection[str], report_progress: Callable[[Progress], None], *, rebuild: bool
    ) -> Report:
        """Brings everything level so that not a byte of some sessions is left, and strikes them out where it is so."""
        report = self.reindex(report_progress, rebuild=rebuild)
        is_erased = self.erase_removed()
        with self.indices.search_lock.exchanging():
            is_erased &= self.forget_of_models()
            shutil.rmtree(self.root.derived_folder / "trial", ignore_errors=True)  # of one that a kill ended
        if is_erased:
            strike_out(self.root, session_ids)
        return report

    def _read_turns(self, embedding: "OneCount", report_progress: Callable[[Progress], None], *, rebuild: bool) -> None:
        """Brings the words of all sessions level, by which they are found while their vectors are made."""
        if self.raw is not None:
            if rebuild or is_of_another_format(self.root.raw_index):
                with self.indices.search_lock.exchanging():
                    self.raw.drop()
            self.raw.bring_level(report_progress)
        if self.stretches is not None:
            if rebuild or is_of_another_format(self.stretches.file):
                with self.indices.search_lock.exchanging():
                    self.stretches.drop()
            self.stretches.read(report_progress)
            embedding.turns = self.stretches.count_missing()

    def _begin(self, *, rebuild: bool) -> None:
        """What a run reads as files, and is made of others."""
        self.point()
        if rebuild:
            shutil.rmtree(self.root.notes, ignore_errors=True)
        if self.raw is not None:
            bring_notes_level(self.root.notes, self.raw.marks(), self.raw.store.notes)

    def _finish(self, report_progress: Callable[[Progress], None]) -> None:
        self._weigh(self.indices, report_progress)
        self._calibrate()

    def erase_removed(self, faded: Collection[TextHash] = ()) -> bool:
        """Rewrites indices that are level, and the vectors, without a byte of what was removed; whether that could be
        done. `faded`: texts whose vectors stay all the same.
        """
        files = [self.root.ledger]
        files += [self.root.raw_index] if self.raw is not None else []
        files += [self.stretches.file] if self.stretches is not None else []
        with self.indices.search_lock.exchanging():
            self.indices.keep_vectors(self._collect_texts().union(faded))
        is_done = True
        for file in filter(Path.exists, files):
            with closing(Ledger(file)) as ledger:  # SQLite compacts by no connection that a question reads with
                is_done &= ledger.compact()
        return is_done

    def point(self) -> None:
        """Writes the pointers of `MEMORY.md`; a page that cannot be written keeps no file from being indexed."""
        try:
            write_index_page(self.root, read_memory_settings(self.root.settings), self.unapproved, self.uses())
        except PermissionError:
            return  # what cannot be written is said by the run itself
        except (ContentError, OSError) as error:
            logger.warning("the pointers of MEMORY.md stay as they are: %s", error)

    def _weigh(self, index: Indices | StretchIndex, report_progress: Callable[[Progress], None]) -> None:
        """Weighs the passages of an index by the sparse model, where one is on."""
        self.further.weigh(index.ledger.texts, self.control(), report_progress)

    def forget_vectors(self) -> None:
        """Leaves no vector of what no index holds any more. Call with no search under way."""
        self.indices.keep_vectors(self._collect_texts())

    def forget_of_models(self) -> bool:
        """Keeps of the weights in use those of texts that a source still holds, and nothing of models not in use;
        whether that could be done.
        """
        remove_other_folders(self.root.vector_cache, self.model.files.fingerprint)
        return self.further.keep_alone(self._collect_texts)

    def _collect_texts(self) -> set[TextHash]:
        """The keys of all texts that have vectors."""
        held = self.indices.ledger.text_hashes()
        if self.stretches is not None and not self.stretches.is_empty:
            held |= self.stretches.ledger.text_hashes()
        return held

    def _calibrate(self) -> None:
        self._calibrate_index(self.indices, self.root.ledger)

    def _calibrate_stretches(self) -> None:
        if self.stretches is not None and not self.stretches.is_empty:
            self._calibrate_index(self.stretches, self.stretches.file)

    def _calibrate_index(self, index: Indices | StretchIndex, file: Path) -> None:
        further = self.further
        calibrate(
            index.ledger,
            index.snapshot(),
            self.stemmer,
            self.model.embed_again,
            further.make_scorer(file),
            further.identity,
        )

    # -- checks -------------------------------------------------------------------------------------------------

    def describe(self, elsewhere: Sequence[Skipped]) -> Status:
        """How the memory stands, but for what was asked of it. `elsewhere`: what was never brought here."""
        changes = self.changes()
        with repairable(self.root.derived_folder):
            passages, unfinished = self._count_passages(), self.count_unfinished(changes)
        sources = [source.layer for source in changes.sources]
        archived = len(self.raw.store.marks()) if self.raw is not None else 0
        model = self.model.files
        return Status(
            root=self.root.path,
            model=model.card.name,
            model_reason=model.reason,
            sources={layer: sources.count(layer) for layer in Layer} | {Layer.RAW: archived},
            topics=sum(is_topic(source.path) for source in changes.sources),
            passages=passages,
            semantic=max(0, passages - unfinished),
            changed=len(changes.changed),
            removed=len(changes.removed),
            unfinished=unfinished,
            problems=changes.skipped,
            skipped=(*self.list_skipped(changes, unfinished), *elsewhere),
            index_bytes=sum(file.stat().st_size for file in self.root.derived_folder.rglob("*") if file.is_file()),
            owner=self.indices.owner(),
            losses=tuple(map(str, read_losses(self.root))),
        )

    def _count_passages(self) -> int:
        ledgers = [self.indices.ledger]
        if self.stretches is not None and not self.stretches.is_empty:
            ledgers.append(self.stretches.ledger)
        return sum(ledger.counts()["searchable"] for ledger in ledgers)

    def is_unfinished(self) -> bool:
        """Whether there is work although no file has changed: an interrupted run left passages that are not found by
        meaning yet, or a session came into the archive behind the run that read its digest.
        """
        counts = self.indices.ledger.counts()
        is_left = counts["semantic"] < counts["searchable"]
        of_stretches = self.stretches is not None and self.stretches.is_behind()
        return bool(is_left or self._count_unindexed() or of_stretches)

    def count_unfinished(self, changes: Changes) -> int:
        """How many passages of files, and stretches of what was said, are not found by meaning yet."""
        is_behind = self.stretches is not None and self.stretches.is_behind()
        return changes.unfinished + (self.stretches.count_missing() if self.stretches and is_behind else 0)

    def is_embedding(self) -> bool:
        """Whether a run is under way or was interrupted, so that something is not found by meaning yet. Waits while a
        ledger is exchanged.
        """
        with repairable(self.root.derived_folder), self.indices.search_lock.searching():
            is_of_files = self.indices.ledger.note(UNFINISHED) != ""
            return is_of_files or (self.stretches is not None and self.stretches.lacks_vectors())

    def _count_unindexed(self) -> int:
        """How many archived sessions differ from what is indexed turn by turn."""
        return sum(map(len, self.raw.changes())) if self.raw is not None else 0

    # -- a change of model --------------------------------------------------------------------------------------

    @property
    def next_model(self) -> str:
        """The model that a change under way leads to; empty where none is."""
        try:
            return self.root.next_model.read_text(encoding="utf-8").strip()
        except OSError:
            return ""

    def plan_model(self, name: str) -> ModelFiles:
        """Notes that the memory is to use another model, so that a restart goes on with it. Embeds nothing yet."""
        files = self.find_model(name)
        if files.fingerprint == self.model.files.fingerprint:
            remove_file(self.root.next_model)
        else:
            replace_file(self.root.next_model, files.card.name + "\n")
        return files

    def change_model(self, report_progress: Callable[[Progress], None]) -> bool:
        """Carries out the planned change of model; false where none is planned. See `Memory.change_model`."""
        if not (name := self.next_model):
            return False
        was_owner = self.indices.is_owner
        if not was_owner and not self.indices.own():
            raise NotOwner(self.root)
        files = self.find_model(name)
        engine = self.model.make(files)
        try:
            self.indices.prepare_model(files, lambda: engine, self.control(), report_progress)
            if self.stretches is not None:
                self.stretches.prepare_model(files, engine, self.control(), report_progress)
            with self.indices.search_lock.exchanging():
                self.indices.switch_model(files)
                old = self.model.exchange(files, engine)
                change_setting(self.root.settings, "model", files.card.name)
                self.indices.ledger.set_note(CALIBRATION_NOTE, "")
                self._calibrate()
                self._calibrate_stretches()
            remove_file(self.root.next_model)
            if old is not None:
                old.close()
            self.reindex(report_progress)
        except BaseException:
            if self.model.files is not files:
                engine.close()
            raise
        finally:
            if not was_owner:
                self.indices.disown()
        return True
