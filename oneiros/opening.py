"""Opening a memory in this process, with everything that costs: whoever asks the daemon imports none of it."""

import logging
from collections.abc import Callable
from functools import partial

from dream.decisions.approvals import UnapprovedFiles
from memory_server.completeness import Skipped
from memory_server.document import RejectedWords
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import ContentError, NeedsRepair
from memory_server.further import FurtherModels
from memory_server.index.build import StatementQuestions
from memory_server.index.raw import SessionStore
from memory_server.machine.clock import local_day
from memory_server.machine.process import prepare_process
from memory_server.memory import Memory, wait_for_nothing
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now

logger = logging.getLogger(__name__)


def open_memory(
    environment: Environment,
    root: MemoryRoot | None = None,
    *,
    as_it_is: bool = False,
    before_search: Callable[[bool], str] = wait_for_nothing,
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
        rejected=partial(list_rejected, root),
        questions=partial(open_questions, root),
        sessions=partial(open_archived_sessions, root),
        further=find_further(environment, root),
        make_engine=OnnxEngine,
        before_search=before_search,
        elsewhere=partial(look_elsewhere, environment, root),
    )
    if not as_it_is and memory.is_of_another_format():
        logger.warning("Another version of oneiros made the indices: they are made anew, with the vectors there are.")
        try:
            memory.reindex()
        except BaseException:
            memory.close()
            raise
    return memory


def find_further(environment: Environment, root: MemoryRoot) -> FurtherModels:
    """The models that the person turned on beside the dense one, or another engine for that.

    Raises NeedsRepair where no part brings them.
    """
    person, derived = environment.person, root.derived_folder
    is_plain = not (person.sparse_model or person.late_model or person.rerank_model)
    if is_plain and person.embedding_engine == "onnx":
        return FurtherModels(derived)
    for part in environment.parts:
        if part.further:
            return part.further(person, environment.catalogue, derived)
    what = "a further model or the torch engine is on, and no part of this program brings it"
    remedy = "Set sparse_model, late_model and rerank_model to '' and embedding_engine to onnx by `oneiros config`"
    raise NeedsRepair(what, remedy=remedy)


def open_archived_sessions(root: MemoryRoot) -> SessionStore:
    """What keeps the sessions of a memory: a run that indexes and a reader of turns ask for it, few questions do."""
    from crawler.archived import ArchivedSessions  # noqa: PLC0415  24 modules

    return ArchivedSessions(root.path / "sessions" / "archive", root.sessions)


def open_questions(root: MemoryRoot) -> StatementQuestions:
    """What knows which questions the statements of topics answer: a run that indexes asks for it."""
    from dream.proposals.questions import ApprovedQuestions  # noqa: PLC0415  20 modules

    return ApprovedQuestions(root)


def list_rejected(root: MemoryRoot) -> list[RejectedWords]:
    """The words of sessions that the person rejected as statements, and said why: what is only not worth a topic goes
    without a reason. None where the file cannot be read, which `doctor` says.
    """
    from dream.proposals.store import ProposalStore  # noqa: PLC0415  20 modules, where something was rejected

    try:
        rejections = ProposalStore(root).rejections()
    except ContentError:
        return []
    return [
        RejectedWords(one.quotes[0].session_id, one.quotes[0].text, local_day(one.at))
        for one in rejections
        if one.quotes and one.reason
    ]


def look_elsewhere(environment: Environment, root: MemoryRoot) -> list[Skipped]:
    """What of this machine's transcripts was never taken in."""
    from oneiros.ingest.settings import list_skipped  # noqa: PLC0415  46 modules, where nothing is found alone

    return list_skipped(environment, root)
