"""dream as this person has set it up: command line and daemon start here, so that they decide on the same things."""

import time
from collections.abc import Callable
from pathlib import Path

from crawler.archive.store import SessionRecord
from crawler.compress.model.compressor import PaidModel
from dream.decisions.accept import Decisions
from dream.evidence import Evidence
from dream.extract import Finder
from dream.extract.model import ModelExtractor
from dream.extract.scorer import Embed, Scorer, embedder_of, weights
from dream.progress import DreamProgress
from dream.report import Review, WeeklyReview, report_page
from dream.run import Bounds, Dream, DreamReport, Extractor
from memory_server.embedding.engine import Engine
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import NeedsRepair, UsageError
from memory_server.machine.files import replace_file
from memory_server.memory import Memory
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from memory_server.settings import PersonSettings, read_memory_settings
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment, now
from oneiros.ingest.settings import archive_of, model_client_of, over_when, spending
from oneiros.opening import open_memory

LEVEL_SECONDS = 30.0  # how long a decision waits until it can be searched for


def decisions_of(environment: Environment) -> Decisions:
    """The decisions on the chosen memory; each is indexed at once."""
    root = require_memory(environment.choice.root)
    return decisions_on(root, environment.person, lambda: bring_level(environment), environment.home)


def decisions_on(
    root: MemoryRoot, person: PersonSettings, level: Callable[[], None] = lambda: None, home: Path | None = None
) -> Decisions:
    """The decisions on a memory, whose quotes are looked up in its archive and in the person's files."""
    return Decisions(root, person, now, is_true=Evidence(archive_of(root), home or Path.home()).resolve, level=level)


def dream_once(
    environment: Environment,
    decisions: Decisions,
    *,
    max_sessions: int | None = None,
    max_seconds: float | None = None,
    with_open: bool = False,
    on_session: Callable[[int, int], None] = lambda *_: None,
    engine: Callable[[], Engine] | None = None,
) -> DreamReport:
    """Reads what is unread and proposes. `with_open`: sessions that are still going on, too; `engine`: the memory's
    model, where it is loaded already.
    """
    is_over = over_when(environment, decisions.root)

    def is_closed(record: SessionRecord) -> bool:
        return with_open or is_over(record.session_id)

    dream = dream_on(environment, decisions, extractor_of(environment, decisions.root, engine))
    return dream.run(Bounds(max_sessions, max_seconds, is_closed), on_session)


def dream_on(environment: Environment, decisions: Decisions, *extractors: Extractor) -> Dream:
    """A dream over the archive of a memory, whose decisions these are."""
    return Dream(
        decisions,
        archive_of(decisions.root),
        extractors,
        now=now,
        clock=time.monotonic,
        redactor=Redactor(environment.person.deny_words),
        home=environment.home,
    )


def extractor_of(environment: Environment, root: MemoryRoot, engine: Callable[[], Engine] | None = None) -> Extractor:
    """The extractor of the settings; a model is asked within the same budget as for compression."""
    find = Finder(Scorer(embed_of(environment, root, engine)))
    if environment.person.dream_extractor == "deterministic":
        return find
    if environment.person.compressor == "extractive":
        raise UsageError("dream_extractor asks a model, and the settings name none", remedy="Set compressor to one")
    client, budget = model_client_of(environment, root), spending(environment, root, now())
    return ModelExtractor(PaidModel(client, budget, pause=time.sleep), find)


def embed_of(environment: Environment, root: MemoryRoot, engine: Callable[[], Engine] | None = None) -> Embed | None:
    """The vectors of the memory's model, loaded when first asked for; None where the scorer does not know it."""
    try:
        files = environment.catalogue.find(read_memory_settings(root.settings).model)
    except NeedsRepair:
        return None
    return embedder_of(engine or (lambda: OnnxEngine(files))) if files.card.name == weights().model else None


def review_of(memory: Memory) -> Review:
    """The review of this week; nothing is written."""
    return WeeklyReview(memory, decisions_on(memory.root, memory.person), archive_of(memory.root), now).make()


def weekly_review(memory: Memory) -> tuple[Review, Path]:
    """The review of this week, written to its file in `reports/`."""
    review = review_of(memory)
    file = memory.root.path / "reports" / f"{review.week}.md"
    replace_file(file, report_page(review))
    return review, file


def has_waiting(root: MemoryRoot) -> bool:
    """Whether there is something to dream, as the flag says that this raises or lowers."""
    return DreamProgress(root).refresh_flag(archive_of(root), now())


def bring_level(environment: Environment) -> None:
    """Indexes what was just written: the daemon does it where one runs, this process otherwise.

    A daemon in the middle of a run, such as the first, is not waited for: it looks at the disk again behind it.
    """
    client = Client.of(environment)
    try:
        is_idle = client.ask("GET", "/api/indexing")["stage"] == "idle"
        wait = LEVEL_SECONDS if is_idle else 0.0
        client.ask("POST", "/api/reindex", {"wait_seconds": wait}, seconds=2 * LEVEL_SECONDS)
    except DaemonLost:
        with open_memory(environment) as memory:
            memory.upkeep.refresh()
