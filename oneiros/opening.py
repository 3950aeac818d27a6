"""Opening a memory in this process, with everything that costs: whoever asks the daemon imports none of it."""

import logging
from collections.abc import Callable
from functools import partial

from crawler.archived import ArchivedSessions
from dream.decisions.approvals import UnapprovedFiles
from dream.proposals.questions import ApprovedQuestions
from memory_server.completeness import Skipped
from memory_server.embedding.engine import Engine
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import NeedsRepair
from memory_server.further import FurtherModels
from memory_server.machine.process import prepare_process
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now

logger = logging.getLogger(__name__)


def open_memory(
    environment: Environment,
    root: MemoryRoot | None = None,
    *,
    as_it_is: bool = False,
    before_search: Callable[[bool], str] = lambda _: "",
) -> Memory:
    """The chosen memory, or another one. Raises NeedsRepair where none has been made.

    Indices of another version are made anew first; `as_it_is` leaves that to the caller.
    """
    prepare_process()
    root = root or environment.choice.root
    files = UnapprovedFiles(root, environment.person.signing_key)
    memory = Memory(
        root,
        person=environment.person,
        catalogue=environment.catalogue,
        now=now,
        unapproved=files,
        approved_on=files.find_approval_day,
        questions=ApprovedQuestions(root),
        sessions=ArchivedSessions(root.path / "sessions" / "archive", root.sessions),
        further=find_further(environment, root),
        make_engine=torch_engine if environment.person.embedding_engine == "torch" else OnnxEngine,
        before_search=before_search,
        elsewhere=partial(look_elsewhere, environment, root),
    )
    if not as_it_is and memory.upkeep.is_of_another_format():
        logger.warning("Another version of oneiros made the indices: they are made anew, with the vectors there are.")
        try:
            memory.reindex()
        except BaseException:
            memory.close()
            raise
    return memory


def find_further(environment: Environment, root: MemoryRoot) -> FurtherModels:
    """The models that the person turned on beside the dense one. Raises NeedsRepair where no part brings them."""
    person, derived = environment.person, root.derived_folder
    if not (person.sparse_model or person.late_model or person.rerank_model):
        return FurtherModels(derived)
    for part in environment.parts:
        if part.further:
            return part.further(person, environment.catalogue, derived)
    turn_off = "`oneiros config` turns them off: set sparse_model, late_model and rerank_model to ''"
    raise NeedsRepair("a model is on beside the embedding model, and no part brings it", remedy=turn_off)


def look_elsewhere(environment: Environment, root: MemoryRoot) -> list[Skipped]:
    """What of this machine's transcripts was never taken in."""
    from oneiros.ingest.settings import list_skipped  # noqa: PLC0415  46 modules, where nothing is found alone

    return list_skipped(environment, root)


def torch_engine(files: ModelFiles) -> Engine:
    """The engine of the `torch` extra. Raises NeedsRepair where that is not installed."""
    try:
        from memory_server.embedding.torch_engine import TorchEngine  # noqa: PLC0415  an extra of a gigabyte
    except ModuleNotFoundError as error:
        raise NeedsRepair(
            "the torch engine is not installed",
            remedy="`pip install 'oneiros[torch]'`, or `oneiros config embedding_engine onnx`",
        ) from error
    return TorchEngine(files)
