"""A memory as another model would see it, beside the indices in use and without a change to them.

What the model makes of passages is kept where it would lie if it were switched on. The ledgers are copied, since the
scales that are learnt for the model are noted there; the copies go at the end.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from memory_server.document import Answer
from memory_server.embedding.engine import Embedded
from memory_server.embedding.model import ModelFiles, ModelKind
from memory_server.further import Trial
from memory_server.index.build import Progress
from memory_server.index.indices import Indices
from memory_server.index.ledger import Ledger
from memory_server.index.snapshot import Snapshot, find_superseded, read_passages
from memory_server.index.stretch_index import StretchIndex
from memory_server.machine.files import make_folder, repairable
from memory_server.memory import Memory
from memory_server.search.question import Question
from memory_server.search.ranking.calibration import calibrate
from memory_server.search.ranking.scoring import CALIBRATION_NOTE
from parts.models.further import ChosenFurtherModels, ChosenModels


@dataclass(frozen=True, slots=True)
class CopiedIndex:
    """The passages of an index with the vectors of another model, as a retriever asks for them."""

    file: Path
    ledger: Ledger  # a copy
    seen: Snapshot

    def snapshot(self) -> Snapshot:
        return self.seen

    def nearest_rows(self, *_: object) -> list[int] | None:
        """None: there is no graph of these vectors, and the caller scans."""
        return None


@contextmanager
def answer_with_model(
    memory: Memory, files: ModelFiles, report_progress: Callable[[Progress], None] = lambda _: None
) -> Iterator[Callable[[Question], Answer]]:
    """Answers as another model would give them, beside the indices in use. `files`: of any kind."""
    with repairable(memory.root.derived_folder), open_trial(memory, files, report_progress) as trial:
        yield lambda question: memory.pipeline(trial=trial).answer(question)


@contextmanager
def open_trial(memory: Memory, tried: ModelFiles, report_progress: Callable[[Progress], None]) -> Iterator[Trial]:
    """Makes what is missing of a model's vectors and weights, and opens a view of them."""
    derived, upkeep, in_use = memory.root.derived_folder, memory.upkeep, memory.upkeep.model
    on = memory.further.chosen if isinstance(memory.further, ChosenFurtherModels) else ChosenModels()
    further, folder = ChosenFurtherModels(on.with_model(tried), derived), derived / "trial"
    files = further.with_late(tried if tried.card.kind is ModelKind.DENSE else in_use.files)
    shutil.rmtree(folder, ignore_errors=True)  # of a trial that a kill ended
    make_folder(folder)
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, folder, ignore_errors=True)
        if files.fingerprint == in_use.files.fingerprint:
            engine = in_use.engine()
        else:
            engine = further.make_engine(in_use.make, files)
            opened.callback(engine.close)

        def embed_query(text: str) -> Embedded:
            return engine.embed([text], as_query=True)[0]

        def view(index: Indices | StretchIndex, name: str) -> CopiedIndex:
            further.weigh(index.ledger.texts, memory.embedding, report_progress)
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
            calibrate(ledger, snapshot, upkeep.stemmer, embed_query, further.make_scorer(file), further.identity)
            return CopiedIndex(file, ledger, snapshot)

        memory.indices.prepare_model(files, lambda: engine, memory.embedding, report_progress)
        of_stretches, stretches = None, memory.stretches
        if stretches is not None and not stretches.is_empty:
            stretches.prepare_model(files, engine, memory.embedding, report_progress)
            of_stretches = view(stretches, "stretches.db")
        yield Trial(embed_query, view(memory.indices, "ledger.db"), of_stretches, further)
