"""Puts the daemon together: each part is given what it needs when it is made, here and nowhere else."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from memory_server.errors import NeedsRepair
from memory_server.faces.mcp_server import create_server
from memory_server.memory import Memory
from oneiros.daemon.assistant_tools import assistant_tools, find_calling_project
from oneiros.daemon.daemon import Activity, Daemon, Ending
from oneiros.daemon.index_runs import IndexRuns
from oneiros.daemon.jobs import daemon_jobs
from oneiros.daemon.schedule import Schedule, schedule_file
from oneiros.daemon.sockets import Listening
from oneiros.daemon.status import read_status
from oneiros.daemon.watching import Watcher
from oneiros.dreaming import build_decisions
from oneiros.environment import Environment, now, program_version
from oneiros.hooks.dispatch import Hooks, hook_tool
from oneiros.hooks.session_start import read_review
from oneiros.ingest.queue import IngestQueue
from oneiros.ingest.readings import ModelReadings, build_asking, compress_again
from oneiros.ingest.settings import spending
from oneiros.ingest.typed_lines import build_recorder
from oneiros.opening import open_memory
from oneiros.served import BesideDoor, Running
from oneiros.worker import Worker


@contextmanager
def compose_daemon(sockets: Listening, environment: Environment) -> Iterator[Daemon]:
    """The daemon of a root, its workers not started; they are closed, and the memory behind them, at the end."""

    def before_search(is_indexed: bool) -> str:
        return indexer.before_search(is_indexed)

    def bring_lines_level() -> None:
        """By what was read; a model, where one is set, reads on behind that."""
        recorder.bring_level()
        readings.worker.poke()

    def on_read() -> None:
        """A model has read sessions: their digests are written anew, and indexed."""
        compress_again(environment, root)
        recorder.bring_level()
        indexer.poke(anyway=True)

    def on_ingested(session_id: str, has_ended: bool) -> None:
        """A session was ingested, or all were: what came of it is indexed and recorded."""
        indexer.poke(anyway=True)
        bring_lines_level()
        if session_id:
            recorder.note(session_id, now(), has_ended=has_ended)

    def warm_up() -> None:
        """Loads the model and reads the indices, so that the first question does not wait for them."""
        memory.embed_query("warm up")
        memory.indices.snapshot()
        bring_lines_level()
        if door:
            door.warm_up()

    root, activity = environment.resolve_root(sockets.root), Activity()
    with open_memory(environment, root, as_it_is=True, before_search=before_search) as memory, ExitStack() as opened:
        indexer = IndexRuns(memory, activity.note, watching=lambda: watcher.manner)
        watcher = Watcher(memory, indexer.poke)
        recorder = build_recorder(memory)
        readings = ModelReadings(root, partial(build_asking, environment, root), on_read)
        schedule = Schedule(schedule_file(root), daemon_jobs(environment, memory, on_ingested), now)
        queue = IngestQueue(environment, root, on_ingested)
        hooks = Hooks(
            memory,
            environment.home,
            queue,
            lambda: read_review(build_decisions(root, memory.person)),
            environment.claude_folder,
        )
        behind = (schedule.worker, queue.worker, readings.worker, Worker("warm-up", warm_up))
        doors: Iterator[BesideDoor] = (one.door(environment, memory) for one in environment.parts if one.door)
        door = next(doors, None)
        for part in (indexer, watcher, hooks, *behind):
            opened.callback(part.close)
        if door:
            opened.callback(door.close)
        mcp = create_server(
            memory,
            program_version(),
            before_answer=activity.note,
            more_tools=assistant_tools(environment, memory),
            unlisted=[hook_tool(hooks.answer)],
            door=door,
            project_of=partial(find_calling_project, root=memory.root, person=memory.person),
        )
        workers = (indexer.worker, watcher.worker, *behind)
        running = build_running(environment, memory, indexer)
        yield Daemon(
            sockets,
            environment,
            memory,
            door,
            indexer,
            hooks,
            queue,
            on_ingested,
            mcp,
            running,
            activity,
            Ending(),
            workers,
        )


def build_running(environment: Environment, memory: Memory, indexer: IndexRuns) -> Running:
    """What the page may know and ask of this process: its jobs, and what was spent."""
    return Running(
        environment=environment,
        status=partial(read_status, environment, memory),
        indexing=indexer,
        spent=partial(read_spent, environment, memory),
    )


def read_spent(environment: Environment, memory: Memory) -> float | None:
    """The dollars of today; None where their ledger is damaged."""
    try:
        return spending(environment, memory.root, now()).spent_today().usd
    except NeedsRepair:
        return None
