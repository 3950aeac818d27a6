"""Opening a memory in this process, with everything that costs.

`Environment.open_memory` imports this when it is called: whoever asks the daemon needs none of it.
"""

import logging

from crawler.archived import ArchivedSessions
from dream.decisions.approvals import UnapprovedFiles
from memory_server.embedding.engine import Engine
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import NeedsRepair
from memory_server.machine.process import settle_process
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now

logger = logging.getLogger(__name__)


def open_memory(environment: Environment, root: MemoryRoot) -> Memory:
    """A memory over one environment, its indices as they are. Raises NeedsRepair where none has been made."""
    settle_process()
    return Memory(
        root,
        person=environment.person,
        hub_cache=environment.hub_cache,
        now=now,
        unapproved=UnapprovedFiles(root),
        sessions=ArchivedSessions(root.path / "sessions" / "archive", root.sessions),
        make_engine=torch_engine if environment.person.embedding_engine == "torch" else OnnxEngine,
    )


def bring_forward(memory: Memory) -> None:
    """Makes the indices anew where another version of the program wrote them. Raises NeedsRepair where it may not."""
    if memory.is_of_another_format():
        logger.warning("Another version of oneiros made the indices: they are made anew, with the vectors there are.")
        memory.reindex()


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
