"""What was said in archived sessions, by words and meaning, in stretches of a size to be ranked and shown.

Neighbouring turns of an exchange are joined, since replies between two calls of tools are a line or two; long ones are
cut. What tools returned is left out: it is sixteen times as much, and whatever of it mattered was said. A stretch
never begins in one exchange and ends in the next, and it knows the request that it answers.

The index has a ledger of its own, so that what was said neither slows nor tilts the search of the layers above; the
vectors of both lie in one cache. There is no graph: what one person says in years is scanned in milliseconds. Derived
from the archive, as `raw.py` is.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from memory_server.document import Chunk, Document, LineRange, Standing
from memory_server.embedding.engine import Engine, ModelInUse
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.vector_cache import TextHash, VectorCache, text_hash
from memory_server.embedding.workers import EmbeddingControl
from memory_server.index.build import UNFINISHED, Progress, fill_cache
from memory_server.index.indices import Indices
from memory_server.index.ledger import VECTORS, Ledger, build_embedded_text, join_keys
from memory_server.index.raw import ArchivedTurn, RawIndex, SessionStore, chunk_id, split_pieces
from memory_server.index.snapshot import Snapshot, read_passages
from memory_server.lifecycle.fading import Fading

STRETCH_CHARS = 800
REQUEST_CHARS = 200
PERSON = "you: "  # before the words of the person; all others are the assistant's
REPLY = "reply: "  # before what an assistant said to them, where both are shown


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some of what was said in one exchange, at most STRETCH_CHARS characters and the marks of who speaks."""

    text: str
    turns: LineRange  # the first and the last turn that it holds words of, from 1
    request: str  # what the person had asked for or said, on one line; empty before the first
    standing: Standing  # of the turn that most of its words are from
    settled_at: int = 0  # the turn that shows it, from 1
    person_chars: int = 0  # at its beginning that the person said, with the mark
    keys: tuple[str, ...] = ()  # of its turns, searched with it and never shown
    noted: tuple[str, ...] = ()  # what its turns say in a reader's words
    takes_back: tuple[str, ...] = ()  # and what they end


def split_stretches(turns: Sequence[ArchivedTurn]) -> list[Stretch]:
    """What was said in a session, in its order."""
    exchanges = split_exchanges(turns)
    return [_stretch(part, request, turns) for request, pieces in exchanges for part in _group_pieces(pieces)]


Pieces = list[tuple[int, str]]  # the number of a turn, and words of it


def _stretch(part: Pieces, request: str, turns: Sequence[ArchivedTurn]) -> Stretch:
    longest, _ = max(part, key=lambda piece: len(piece[1]))
    turn = turns[longest - 1]
    standing = turn.standing or (Standing.YOU if turn.is_person else Standing.CLAUDE)
    where = LineRange(part[0][0], part[-1][0])
    own = "\n".join(text for number, text in part if turns[number - 1].is_person)
    text = "\n".join(text for _, text in part)
    held = list(dict.fromkeys(number for number, _ in part))
    keys = tuple(key for number in held for key in turns[number - 1].keys)
    noted = tuple(one for number in held for one in turns[number - 1].noted)
    ended = tuple(one for number in held for one in turns[number - 1].takes_back)
    return Stretch(text, where, request, standing, turn.settled_at, len(own), keys, noted, ended)


def split_exchanges(turns: Sequence[ArchivedTurn]) -> Iterator[tuple[str, Pieces]]:
    """Every time the person spoke: their words on one line, cut, and all that was said from there on."""
    request, pieces = "", Pieces()
    for number, turn in enumerate(turns, start=1):
        if turn.is_person and turn.spoken:
            if pieces:
                yield request, pieces
            request, pieces = " ".join(turn.spoken.split())[:REQUEST_CHARS], []
        mark = PERSON if turn.is_person else ""
        pieces += [(number, f"{mark}{piece}") for piece in split_pieces(turn.spoken, STRETCH_CHARS)]
    if pieces:
        yield request, pieces


def _group_pieces(pieces: Pieces) -> Iterator[Pieces]:
    """Pieces in groups of at most STRETCH_CHARS characters; a longer piece stands alone."""
    part, chars = Pieces(), 0
    for number, text in pieces:
        if part and chars + len(text) > STRETCH_CHARS:
            yield part
            part, chars = [], 0
        part.append((number, text))
        chars += len(text) + 1
    if part:
        yield part


class StretchIndex:
    """The stretches of all archived sessions. Safe to share between threads; one process writes at a time."""

    def __init__(
        self,
        folder: Path,
        open_store: Callable[[], SessionStore],
        indices: Indices,
        model: ModelInUse,
        fading: Callable[[], Fading] = Fading,
    ):
        """Opens nothing yet. `indices` has the vectors, and opens those of other models."""
        self._folder = folder
        self._indices = indices
        self.open_cache = indices.open_cache
        self.file = folder / "ledger.db"
        self._turns = RawIndex(self.file, open_store, chunks_of_stretches, fading)
        self._model = model
        self._guard = threading.RLock()
        self._snapshot: Snapshot | None = None
        self._waits = False  # whether a stretch of it has no vector yet
        self._seen: tuple[object, ...] = ()  # what it was read at

    def close(self) -> None:
        with self._guard:
            self._turns.close()
            self._snapshot = None

    # -- what a retriever asks of it ----------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        return self._turns.ledger

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to ask; looking makes no file."""
        return self._turns.is_empty

    def snapshot(self) -> Snapshot:
        """The stretches as they are now; read again only when they have changed."""
        with self._guard:
            cache = self._indices.cache
            generation, vectors = self.ledger.generation(), len(cache)
            if self._snapshot is None or (generation, cache, vectors if self._waits else 0) != self._seen:
                with closing(Ledger(self.file)) as ledger:  # of its own: other threads are reading the shared one
                    table = read_passages(ledger, cache.key_file)
                # each stretch is judged by itself, also where several are pieces of one long turn
                passages = replace(table.passages, lines=table.passages.ordinals)
                self._snapshot = Snapshot(passages, table.sources, cache.vectors(), cache.tokens())
                self._waits = bool((passages.vectors < 0).any())  # else vectors that come are of others
                self._seen = (generation, cache, vectors if self._waits else 0)
            return self._snapshot

    def nearest_rows(self, *_: object) -> list[int] | None:
        """None: there is no graph to ask, and the caller scans."""
        return None

    # -- writing ------------------------------------------------------------------------------------------------

    def drop(self) -> None:
        """Deletes what was cut; the next `bring_level` cuts it anew. Call with no search under way."""
        self._turns.drop()
        with self._guard:
            self._snapshot = None  # a new file counts its changes anew

    def read(self, report_progress: Callable[[Progress], None]) -> None:
        """Cuts what is new in the archive, which is found by its words then, and drops what is gone."""
        if not any(self._turns.changes()) and self.is_empty:
            return
        self._folder.mkdir(exist_ok=True)
        if self.is_behind():
            self.ledger.set_note(UNFINISHED, "yes")
        self._turns.bring_level(report_progress)

    def is_behind(self) -> bool:
        """Whether a session is not cut as it is now, or an interrupted run left stretches without vectors."""
        return any(self._turns.changes()) or self.lacks_vectors()

    def lacks_vectors(self) -> bool:
        """Whether a run under way, or one that was interrupted, has stretches still to embed."""
        return not self.is_empty and self.ledger.note(UNFINISHED) != ""

    def count_missing(self) -> int:
        """How many texts `embed` will read."""
        if self.is_empty:
            return 0
        return len(self.ledger.text_hashes() - self._indices.cache.text_hashes())

    def embed(self, plan: EmbeddingControl, report_progress: Callable[[Progress], None]) -> None:
        """Embeds what was cut, the newest first. What an interrupted run did is kept."""
        if self.is_empty:
            return
        self._fill(self._indices.cache, self._model.engine, plan, report_progress)
        with self.ledger.transaction():
            self.ledger.set_note(VECTORS, self._model.files.fingerprint)
            self.ledger.set_note(UNFINISHED, "")

    def prepare_model(
        self, model: ModelFiles, engine: Engine, plan: EmbeddingControl, report_progress: Callable[[Progress], None]
    ) -> None:
        """Embeds every stretch with another model, beside the vectors in use."""
        if not self.is_empty:
            with closing(self.open_cache(model)) as cache:
                self._fill(cache, lambda: engine, plan, report_progress)

    def _fill(
        self,
        cache: VectorCache,
        engine: Callable[[], Engine],
        plan: EmbeddingControl,
        report_progress: Callable[[Progress], None],
    ) -> None:
        texts = self.ledger.texts()
        known = cache.find(texts)
        if missing := [(key, text) for key, text in texts.items() if key not in known]:
            fill_cache(cache, missing, engine(), plan, report_progress)


def chunks_of_stretches(document: Document, turns: Sequence[ArchivedTurn]) -> list[tuple[Chunk, TextHash]]:
    """Every stretch with the key of its vector; its lines are the turns that it holds words of."""
    found = []
    for ordinal, stretch in enumerate(split_stretches(turns)):
        chunk = Chunk(
            id=chunk_id(document.path, stretch.turns.first, ordinal, stretch.text),
            path=document.path,
            ordinal=ordinal,
            text=stretch.text,
            searchable=stretch.text,
            headings=(stretch.request,),
            lines=stretch.turns,
            standing=stretch.standing,
            settled_at=stretch.settled_at,
            person_chars=stretch.person_chars,
            keys=stretch.keys,
            noted=stretch.noted,
            takes_back=stretch.takes_back,
        )
        embedded = build_embedded_text(chunk.context(document), chunk.searchable, join_keys(chunk.keys))
        found.append((chunk, text_hash(embedded)))
    return found
