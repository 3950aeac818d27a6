"""A process whose children change a memory while a write of theirs fails; prints what came of it as JSON lines.

Run as `python -m tests.faults.under_faults SCENARIO FOLDER MOST` with the shim
preloaded and FOLDER/home as HOME. Of all points at which the
change writes, syncs, renames, cuts, removes or makes something below the home, MOST are tried, evenly spaced. At each
the child is killed, or gets an error once, or from there on, as from a full disk or one that became read-only. Then the
next command runs, and what lies there must be the state before the change or behind it; then the change itself again.
"""

import ctypes
import datetime as dt
import errno
import functools
import gc
import hashlib
import importlib.metadata
import io
import json
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from crawler.archive.store import Archive
from dream.records import State
from memory_server.embedding.model import read_card
from memory_server.embedding.vector_cache import TextHash, VectorCache, token_bytes
from memory_server.embedding.workers import WorkerPlan
from memory_server.errors import OneirosError
from memory_server.index.build import fill_cache
from memory_server.index.ledger import build_embedded_text
from memory_server.layers.index_page import own_lines
from memory_server.lifecycle.use import UseLog
from memory_server.machine.files import find_refusal
from memory_server.settings import read_memory_settings
from oneiros.cli import ingest, maintenance, searching  # noqa: F401
from oneiros.cli.app import EXIT_BUG
from oneiros.cli.main import main as oneiros_main
from oneiros.environment import Environment
from parts.taking_over.habits import read_habits
from parts.taking_over.installing import list_installed
from tests.crawler.builders import SESSION, assistant, person, working_session, write_transcript
from tests.dream.builders import NOW, PERSON, archive_statements, decisions_on, git, proposed, replacing
from tests.earlier import unpack
from tests.memories import root_at, write_topic
from tests.parts.taking_over.skill_house import STEPS, archive_of_sessions, did
from tests.states import WordEngine
from tests.system.test_model import OTHER, TwoModels

UNSEEN = ("reindex", "rebuild", "migration")  # changes of indices alone, which the next command makes up for
YEAR = 365 * 24 * 3_600  # seconds
KILL = 0
FAULTS = {"killed": (KILL, 0), "error": (errno.EIO, 0), "full": (errno.ENOSPC, 1), "read-only": (errno.EROFS, 1)}
ASK = ("recall", "--no-daemon", "which port does the relay listen on", "--json")
Home = Path


def run(home: Home, *arguments: str) -> int:
    """A command as the person of this home types it; its exit code."""
    return oneiros_main(list(arguments), environment(home))


def environment(home: Home) -> Environment:
    variables = {"HOME": str(home), "HF_HUB_CACHE": "/nonexistent", "XDG_RUNTIME_DIR": str(home / "run")}
    return Environment(variables, home, home)


def memory_at(home: Home) -> Path:
    return home / ".oneiros" / "memory"


# -- scenarios --------------------------------------------------------------------------------------------------


def founded(home: Home) -> None:
    (home / "run").mkdir(parents=True, mode=0o700)
    assert run(home, "init") == 0
    write_topic(memory_at(home), "mail", "# Mail\n\nThe relay listens on port 2525.\n", title="Mail")
    write_transcript(home / ".claude" / "projects" / "-work-app", *working_session())


def ingested(home: Home) -> None:
    founded(home)
    assert run(home, "ingest") == 0


def appended(home: Home) -> None:
    ingested(home)
    more = [person(31, "The relay also needs TLS."), assistant(32, "I turned TLS on for the relay.")]
    write_transcript(home / ".claude" / "projects" / "-work-app", *working_session(), *more)


def edited(home: Home) -> None:
    ingested(home)
    write_topic(memory_at(home), "mail", "# Mail\n\nThe relay listens on port 2526.\n", title="Mail")
    write_topic(memory_at(home), "backups", "# Backups\n\nBackups run at 03:00.\n", title="Backups")
    (memory_at(home) / "lessons.md").unlink()


def earlier(home: Home) -> None:
    root = unpack("previous", home / "unpacked")
    memory_at(home).parent.mkdir(parents=True)
    (home / "run").mkdir(mode=0o700)
    root.rename(memory_at(home))
    _make_vectors_anew(memory_at(home) / ".oneiros")


def _make_vectors_anew(derived: Path) -> None:
    """Puts vectors of this run's engine in the place of those that an earlier version's real model made.

    A fault may lose the kept ones; what is then made again must be the same.
    """
    with closing(sqlite3.connect(derived / "ledger.db")) as ledger:
        rows = ledger.execute("select text_hash, context, passage from chunk where text_hash is not null").fetchall()
    (folder,) = (derived / "vectors").iterdir()
    shutil.rmtree(folder)
    engine = WordEngine(TwoModels(Path("/nonexistent")).find())
    with closing(VectorCache(folder, engine.dimensions, token_bytes(engine.dimensions))) as cache:
        wanted = {TextHash(key): build_embedded_text(context, passage) for key, context, passage in rows}
        fill_cache(cache, list(wanted.items()), engine, WorkerPlan.of_share(1.0))


def proposal(home: Home) -> None:
    founded(home)
    root = root_at(memory_at(home))
    if not (root.path / ".git").exists():
        git(root.path, "init", "--quiet")
    git(root.path, "add", ".")
    git(root.path, "commit", "--quiet", "-m", "Begin")
    archive_statements(root, "The relay listens on port 2526.")
    proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))


def two_topics(home: Home) -> None:
    proposal(home)
    write_topic(memory_at(home), "backups", "# Backups\n\nBackups run after [mail](mail.md).\n", title="Backups")
    git(memory_at(home), "add", ".")
    git(memory_at(home), "commit", "--quiet", "-m", "Write of backups")


def accepted(home: Home) -> None:
    proposal(home)
    accept(home)


def accept(home: Home) -> int:
    decisions = decisions_on(root_at(memory_at(home)))
    for hunk in decisions.store.hunks():
        if hunk.state is State.PENDING:
            decisions.accept(hunk.id, PERSON)
    return 0


def revert(home: Home) -> int:
    decisions = decisions_on(root_at(memory_at(home)))
    for hunk in decisions.store.hunks():
        if hunk.state is State.ACCEPTED:
            decisions.revert(hunk.id, PERSON)
    return 0


def remember(home: Home) -> int:
    with patch("oneiros.dreaming.now", lambda: NOW):  # the moment of what is told names its footnote
        return run(home, "remember", "The relay needs TLS.", "--topic", "mail")


def merge(home: Home) -> int:
    with patch("parts.arranging.deciding.now", lambda: NOW):  # the day stands in the frontmatter
        return run(home, "topics", "merge", "mail", "backups", "--into", "mail")


def drafted(home: Home) -> None:
    founded(home)
    archive_of_sessions(memory_at(home).parent, did(1, *STEPS), did(2, *STEPS))
    assert run(home, "skills", "draft", _habit(home)) == 0


def _habit(home: Home) -> str:
    [habit] = read_habits(Archive(root_at(memory_at(home)).path / "sessions" / "archive"))[0]
    return habit.id


def install(home: Home) -> int:
    return run(home, "skills", "accept", _habit(home), "--mine")


def installed(home: Home) -> None:
    drafted(home)
    assert install(home) == 0


@dataclass(frozen=True)
class Scenario:
    """A change of a memory, and what a person would do next."""

    prepare: Callable[[Home], None]
    change: Callable[[Home], int]
    then: Sequence[Callable[[Home], Any]]  # after which the old state or the new one must be there


def command(*arguments: str) -> Callable[[Home], int]:
    return lambda home: run(home, *arguments)


def aged(home: Home) -> None:
    """A conversation that was there half a year before the change."""
    ingested(home)
    for record in (memory_at(home) / "sessions" / "archive" / "sessions").iterdir():
        os.utime(record, (NOW.timestamp(), NOW.timestamp()))
    log = UseLog(root_at(memory_at(home)).state_database, lambda: dt.date(2026, 3, 2))
    log.count_found("an old question", ["topics/mail.md"])
    log.close()


def prune(home: Home) -> int:
    """Each try goes to a file of its own, as a person would name it."""
    file = home / f"old{len(list(home.glob('old*')))}.tar.zst"
    return run(home, "archive", "prune", "--older-than", "1", "--to", str(file))


def pruned(home: Home) -> None:
    ingested(home)
    assert prune(home) == 0


def gone(home: Home) -> None:
    ingested(home)
    assert run(home, "backup", str(home / "all.tar.zst")) == 0
    shutil.rmtree(memory_at(home))


LEVEL = (command("reindex"),)
DECIDED = (
    lambda home: decisions_on(root_at(memory_at(home))).find_unexplained(),
    *LEVEL,
)  # as every session's start does
SCENARIOS = {
    "archive": Scenario(founded, command("ingest"), LEVEL),
    "append": Scenario(appended, command("ingest"), LEVEL),
    "forget": Scenario(ingested, command("forget", SESSION), (command("ingest"), *LEVEL)),
    "reindex": Scenario(edited, command("reindex"), LEVEL),
    "rebuild": Scenario(edited, command("reindex", "--rebuild"), LEVEL),
    "model": Scenario(ingested, command("model", OTHER), LEVEL),
    "migration": Scenario(earlier, command("reindex"), LEVEL),
    "accept": Scenario(proposal, accept, DECIDED),
    "revert": Scenario(accepted, revert, DECIDED),
    "remember": Scenario(proposal, remember, DECIDED),
    "gc": Scenario(aged, command("gc", "--yes"), LEVEL),
    "prune": Scenario(ingested, prune, LEVEL),
    "unprune": Scenario(pruned, lambda home: run(home, "archive", "restore", str(home / "old0.tar.zst")), LEVEL),
    "backup": Scenario(gone, lambda home: run(home, "backup", "--restore", str(home / "all.tar.zst")), LEVEL),
    "move": Scenario(proposal, command("topics", "mv", "mail", "post"), DECIDED),
    "install": Scenario(drafted, install, LEVEL),
    "uninstall": Scenario(installed, command("skills", "revert", "fmt-lint-test"), LEVEL),
    "merge": Scenario(two_topics, merge, DECIDED),
}


# -- what lies there --------------------------------------------------------------------------------------------


def state_of(home: Home) -> dict[str, Any]:
    """What a person would miss: their files, what is archived, what was decided, and what a question finds."""
    root = memory_at(home)
    if not root.exists() or not any(root.iterdir()):
        return {}
    files = [*root.glob("topics/**/*.md"), *root.glob("*.md"), *root.glob("sessions/compressed/**/*.md")]
    files += home.glob(".claude/skills/**/*.md")
    archive = Archive(root / "sessions" / "archive")
    return {
        "files": {str(file.relative_to(home)): hash_content(file) for file in files if file.name != "index-page"},
        "archive": {session: archive.hash_session(session) for session in archive.session_ids()},
        "damaged": [str(problem) for problem in archive.verify() if problem.rule != "archive-orphan"],
        "model": read_memory_settings(root / "oneiros.toml").model,
        "skills": [one.text for one in list_installed(decisions_on(root_at(root)))],
        "hunks": [str(hunk.state) for hunk in decisions_on(root_at(root)).store.hunks()],
        "answer": _answer(home),
    }


def _answer(home: Home) -> list[object]:
    file = home / "answer.json"
    with file.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        code = run(home, *ASK)
        sys.stdout.flush()
    hits = json.loads(file.read_text(encoding="utf-8"))["hits"] if code == 0 else []
    file.unlink()
    return [code, [(hit["path"], hit["passage"]) for hit in hits]]


# -- children ---------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], int], log: Path) -> tuple[int, str]:
    """Runs something in a fork; its exit code, and what it said on stderr."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = EXIT_BUG
        try:
            for descriptor in (1, 2):
                os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
            code = work()
        except (OneirosError, OSError) as error:
            told = error if isinstance(error, OneirosError) else find_refusal(error, log)
            code = told.exit_code if told else EXIT_BUG
            sys.stderr.write(f"{told or f'failed unexpectedly: {error!r}'}\n")
        except BaseException:  # noqa: BLE001  the outermost of its process
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    log.unlink(missing_ok=True)
    return code, text


def load_what_children_need(scenario: Scenario, home: Home) -> None:
    """Runs the change and a question once, here: each child would import, compile and hash the same anew."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        scenario.prepare(home)
        scenario.change(home)
        for step in scenario.then:
            step(home)
        run(home, *ASK)
    shutil.rmtree(home)
    assert threading.active_count() == 1, "a child would lack this thread"
    gc.freeze()  # a child that collects would copy every page


def looked_at(home: Home, scenario: Scenario, *, again: bool, log: Path) -> dict[str, Any]:
    """The state after the next commands, or after the change was made again."""
    file = log.with_suffix(".state")

    def look() -> int:
        if again:
            scenario.change(home)
        for step in scenario.then:
            step(home)
        file.write_text(json.dumps(state_of(home)), encoding="utf-8")
        return 0

    code, output = in_child(look, log)
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if code == 0 else {"failed": output[-2000:]}
    file.unlink(missing_ok=True)
    return found


def main(name: str, folder: Path, most: int) -> None:
    patch("oneiros.opening.OnnxEngine", WordEngine).start()  # a thousand texts a second
    patch("memory_server.embedding.catalogue.Catalogue", TwoModels).start()
    patch("oneiros.cli.consent.person_at_terminal", lambda _: PERSON).start()
    # Pinned to one core and nice, threads that embed would wait there for another scenario.
    patch("memory_server.embedding.workers.WorkerPool._pin_thread", lambda *_: None).start()
    # What is installed and shipped is the same for every child, which inherits what was read here.
    patch("importlib.metadata.entry_points", functools.cache(importlib.metadata.entry_points)).start()
    patch("memory_server.embedding.catalogue.read_card", functools.cache(read_card)).start()
    library = ctypes.CDLL(None)
    library.faults_seen.restype = ctypes.c_long
    scenario, base, home, log = SCENARIOS[name], folder / "base", folder / "home", folder / "log"
    load_what_children_need(scenario, home)
    code, output = in_child(lambda: prepared(scenario, home), log)
    assert code == 0, output
    shutil.copytree(home, base, symlinks=True)

    def renew() -> None:
        """The home before the change, in the place where it was made: memories know their path."""
        shutil.rmtree(home)
        shutil.copytree(base, home, symlinks=True)

    def changed(nth: int = 0, error: int = 0, lasts: int = 0) -> int:
        library.faults_arm(os.fsencode(home), nth, error, lasts)
        code = scenario.change(home)
        (folder / "count").write_text(str(library.faults_seen()), encoding="utf-8")
        return code

    old = looked_at(home, scenario, again=False, log=log)
    renew()
    code, output = in_child(changed, log)
    assert code == 0, output
    points = int((folder / "count").read_text(encoding="utf-8"))
    new = looked_at(home, scenario, again=False, log=log)
    assert old != new or name in UNSEEN, "the change changes nothing"
    say({"scenario": name, "points": points})
    renew()
    library.faults_clock(-YEAR)
    code, output = in_child(changed, log)
    library.faults_clock(0)
    again = looked_at(home, scenario, again=True, log=log)
    say({"fault": "clock", "code": code, "again": called(again, old, new), "said": output[-300:]})
    for number, nth in enumerate(range(1, points + 1, max(1, points // most))):
        fault = list(FAULTS)[number % len(FAULTS)]
        renew()
        code, output = in_child(lambda: changed(nth, *FAULTS[fault]), log)  # noqa: B023  run at once
        then, again = (looked_at(home, scenario, again=repeat, log=log) for repeat in (False, True))
        found = {"then": called(then, old, new), "again": called(again, old, new)}
        say(
            {
                "point": nth,
                "fault": fault,
                "code": code,
                **found,
                "said": output.strip().rpartition("\n")[2][:300] if code else "",
            }
        )


def hash_content(file: Path) -> str:
    """What a file says; of MEMORY.md the person's lines, since its pointers are made anew from the topics."""
    content = file.read_bytes()
    if file.name == "MEMORY.md":
        content = "\n".join(own_lines(content.decode("utf-8"))).encode()
    return hashlib.sha256(content).hexdigest()


def called(found: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Any:
    """ "new" or "old"; "between" where every file and every session is one of both; else what it is."""
    if found in (new, old):
        return "new" if found == new else "old"
    whole = "failed" not in found and not found["damaged"] and found["hunks"] in (old["hunks"], new["hunks"])
    is_mixed = whole and all(
        found[kind].get(name) in (old[kind].get(name), new[kind].get(name))
        for kind in ("files", "archive")
        for name in found[kind].keys() | old[kind].keys() | new[kind].keys()
    )
    return "between" if is_mixed else found


def prepared(scenario: Scenario, home: Home) -> int:
    scenario.prepare(home)
    return 0


def say(row: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(row)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
