"""A memory as another model would see it, beside the indices in use and without a change to them.

What the model makes of passages is kept where it would lie if it were switched on. The ledgers are copied, since the
scales that are learnt for the model are noted there; the copies go at the end.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from memory_server.embedding.engine import Embedded, Engine
from memory_server.embedding.in_use import ModelInUse
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.workers import EmbeddingControl
from memory_server.further import ChosenModels, FurtherModels
from memory_server.index.build import Progress
from memory_server.index.indices import Indices
from memory_server.index.ledger import Ledger
from memory_server.index.passages import read_passages
from memory_server.index.snapshot import Snapshot, find_superseded
from memory_server.index.stretch_index import StretchIndex
from memory_server.language.words import Stemmer
from memory_server.machine.files import make_folder
from memory_server.search.ranking.calibration import NOTE as CALIBRATION_NOTE
from memory_server.search.ranking.calibration import calibrate


@dataclass(frozen=True, slots=True)
class TrialIndex:
    """The passages of an index with the vectors of another model, as a retriever asks for them."""

    file: Path
    ledger: Ledger  # a copy
    seen: Snapshot

    def snapshot(self) -> Snapshot:
        return self.seen

    def nearest_rows(self, *_: object) -> list[int] | None:
        """None: there is no graph of these vectors, and the caller scans."""
        return None


@dataclass(frozen=True, slots=True)
class Trial:
    """What answers with another model."""

    embed_query: Callable[[str], Embedded]
    indices: TrialIndex
    stretches: TrialIndex | None
    further: FurtherModels


@contextmanager
def open_trial(
    chosen: ChosenModels,
    in_use: ModelInUse,
    indices: Indices,
    stretches: StretchIndex | None,
    stemmer: Stemmer,
    control: EmbeddingControl,
    report_progress: Callable[[Progress], None],
    derived: Path,
) -> Iterator[Trial]:
    """Makes what is missing of the chosen models' vectors and weights, and opens a view of them."""
    files, further, folder = chosen.dense, FurtherModels(chosen, derived), derived / "trial"
    shutil.rmtree(folder, ignore_errors=True)  # of a trial that a kill ended
    make_folder(folder)
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, folder, ignore_errors=True)
        engine = in_use.engine() if files.fingerprint == in_use.files.fingerprint else _new(opened, in_use, files)

        def embed_query(text: str) -> Embedded:
            return engine.embed([text], as_query=True)[0]

        def view(index: Indices | StretchIndex, name: str) -> TrialIndex:
            if further.sparse is not None:
                further.sparse.bring_level(index.ledger.texts(), control, report_progress)
            file = folder / name
            index.ledger.connection.execute("vacuum into ?", (str(file),))
            ledger = opened.enter_context(closing(Ledger(file)))
            cache = opened.enter_context(closing(index.open_cache(files)))
            with closing(Ledger(file)) as reading:  # the cache's keys stay attached to it
                table = read_passages(reading, cache.key_file)
            passages, sources = table.passages, table.sources
            if isinstance(index, StretchIndex):
                passages = replace(passages, lines=passages.ordinals)  # as that index does
            snapshot = Snapshot(passages, sources, cache.vectors(), cache.tokens(), find_superseded(sources))
            ledger.set_note(CALIBRATION_NOTE, "")
            calibrate(ledger, snapshot, stemmer, embed_query, further.make_scorer(file), further.identity)
            return TrialIndex(file, ledger, snapshot)

        indices.prepare_model(files, lambda: engine, control, report_progress)
        of_stretches = None
        if stretches is not None and not stretches.is_empty:
            stretches.prepare_model(files, engine, control, report_progress)
            of_stretches = view(stretches, "stretches.db")
        yield Trial(embed_query, view(indices, "ledger.db"), of_stretches, further)


def _new(opened: ExitStack, in_use: ModelInUse, files: ModelFiles) -> Engine:
    engine = in_use.make(files)
    opened.callback(engine.close)
    return engine
