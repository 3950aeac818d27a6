"""Whatever a cloned memory holds, no command and no hook changes a byte outside of it and the person's own folders."""

import io
import json
import logging
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dream.changes import Event, FileChange, hash_text
from dream.decisions.chain import make_entry
from dream.decisions.journal import Noted, Plan
from dream.proposals.store import Approval
from oneiros.cli.main import main
from oneiros.environment import Environment
from oneiros.light import hook
from tests.conftest import MakeEngine
from tests.crawler.builders import OTHER_SESSION, SESSION, person, working_session, write_transcript
from tests.dream.builders import NOW, PERSON, archive_statements, decisions_on, new_topic, proposed
from tests.memories import new_root, without_daemon, write_session, write_topic

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("recall", "relay"),
    ("exact", "2525"),
    ("read", "mail"),
    ("topics",),
    ("status", "--json"),
    ("doctor", "--json"),
    ("validate",),
    ("reindex", "--rebuild"),
    ("init",),
    ("ingest",),
    ("forget", SESSION),
    ("archive", "verify"),
    ("dream", "--open"),
    ("report",),
    ("review", "--list"),
    ("queries",),
    ("model", "bge-small"),
    ("config", "index_max_lines", "100"),
    ("episode", "The staging server moved."),
)
EVENTS = ("SessionEnd", "UserPromptSubmit", "PreToolUse")
PLACES = (
    *(
        "MEMORY.md",
        "lessons.md",
        "ontology.yaml",
        "oneiros.toml",
        ".gitignore",
        "topics",
        "topics/mail.md",
        "topics/new.md",
    ),
    *(".oneiros", ".oneiros/ledger.db", ".oneiros/ledger.db-wal", ".oneiros/vectors", ".oneiros/semantic"),
    *(
        ".oneiros/raw.db",
        ".oneiros/digest.db",
        ".oneiros/ingest.sqlite",
        ".oneiros/sessions.db",
        ".oneiros/lock",
        ".oneiros/owner",
    ),
    *(".oneiros/dream.lock", ".oneiros/daemon.lock", ".oneiros/dream.json", ".oneiros/mistakes.json"),
    *(".oneiros/.dream-pending", ".oneiros/commit-index", ".oneiros/next-model", ".oneiros/name"),
    *(".oneiros/token", ".oneiros/daemon.json", ".oneiros/daemon.log", ".oneiros/hook.log", ".oneiros/queries.db"),
    *(".oneiros/ended.jsonl", ".oneiros/spent.json", ".oneiros/error.log", ".oneiros/references"),
    *("proposals", "proposals/.journal.json", "proposals/approvals.jsonl", "proposals/queue.json"),
    *("proposals/rejected.jsonl", "proposals/2026-03-02-1", "proposals/2026-03-02-1/hunks.json"),
    *("proposals/2026-03-02-1/proposal.md", "reports", "sessions", "sessions/compressed", "sessions/compressed/2026"),
    *("sessions/archive", "sessions/archive/.lock", "sessions/archive/objects", "sessions/archive/sessions"),
    *("sessions/archive/forgotten.jsonl", "sessions/archive/objects/00", "episodes", "episodes/2026", ".blackboard"),
    *(".blackboard/handoff", ".blackboard/sessions"),
)
KINDS = ("link to a folder", "link to a file", "link to nothing", "pipe", "folder", "file", "plan", "approval")
Plant = tuple[str, str]  # where, what


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with something of everything, as a hostile repository has it."""
    folder = tmp_path_factory.mktemp("hostile") / "memory"
    root = new_root(folder)
    write_topic(root, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    write_session(root, "2026-03-01-a-session-11111111", "The relay listens on port 2525.")
    archive_statements(root, "Backups run at 03:00.")
    proposed(decisions_on(root), new_topic("Backups run at 03:00.", "backups"))
    shutil.rmtree(root.derived_folder)
    return folder


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, make_engine: MakeEngine) -> Iterator[None]:
    """The real model, read once, and a person who consents."""
    monkeypatch.setattr("oneiros.cli.consent.person_at_terminal", lambda _: PERSON)
    monkeypatch.setattr("oneiros.opening.OnnxEngine", make_engine)
    yield
    logging.getLogger().handlers.clear()


class Scene:
    """A home, a trusted clone in it, and what must stay as it is."""

    def __init__(self, folder: Path, template: Path):
        self.home, self.outside, self.clone = folder / "home", folder / "outside", folder / "home" / "clone" / "memory"
        write_transcript(self.home / ".claude" / "projects" / "-work-app", *working_session())
        more = person(1, "Backups run at 04:00.", session=OTHER_SESSION)
        write_transcript(self.home / ".claude" / "projects" / "-work-app", more, session=OTHER_SESSION)
        shutil.copytree(template, self.clone)
        for name in ("file", "ab/cd.zst", "x.tmp", "queue.json", "a/hunks.json", "2026/s.md", "handoff/handoff-a.md"):
            (self.outside / name).parent.mkdir(parents=True, exist_ok=True)
            (self.outside / name).write_text("precious\n", encoding="utf-8")
        config = self.home / ".config" / "oneiros" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f"trusted_roots = [{json.dumps(str(self.clone))}]\n", encoding="utf-8")
        self.variables = {"HOME": str(self.home), "HF_HUB_CACHE": "/nonexistent", "PATH": os.environ["PATH"]}
        self.variables["XDG_RUNTIME_DIR"] = str(folder)

    def plant(self, where: str, what: str) -> None:
        """Puts something in the place of whatever the clone has there."""
        place = self.clone / where
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        elif os.path.lexists(place):
            place.unlink()
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            self._put(place, what)
        except (FileExistsError, NotADirectoryError):
            pass  # what was planted before is in the way

    def _put(self, place: Path, what: str) -> None:
        if what.startswith("link"):
            targets = {"link to a folder": "", "link to a file": "file", "link to nothing": "made"}
            place.symlink_to(self.outside / targets[what])
        elif what == "pipe":
            os.mkfifo(place)
        elif what == "folder":
            place.mkdir()
        else:
            path = str(self.outside / "made")
            change = FileChange(path, "", hash_text("x"), hash_text("x"))
            approval = Approval(Event.ACCEPTED, NOW, (change,), nonce="1")
            plan = Plan({path: "x"}, (Noted(make_entry(approval, ""), approval),), ())
            place.write_bytes(msgspec.json.encode({"file": "x", "plan": plan, "approval": approval}[what]) + b"\n")

    def run(self, command: Sequence[str]) -> None:
        main(without_daemon(command), Environment(self.variables, self.home, self.clone.parent))

    def hook(self, event: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the hook script does, without its timer and its exit."""
        monkeypatch.setattr(os, "environ", self.variables)
        monkeypatch.chdir(self.clone.parent)
        payload = {"session_id": "a-1", "tool_name": "Write", "tool_input": {"file_path": "topics/x.md"}, "prompt": "x"}
        monkeypatch.setattr(hook, "_read_input", lambda: json.dumps(payload).encode())
        try:
            hook.answer(event)
        except Exception as error:  # noqa: BLE001  as its outermost frame does
            hook._log(repr(error))

    def untouched(self) -> dict[str, object]:
        """Everything but the clone and the person's own folders of oneiros: what it is, its rights, its bytes."""
        own = [self.home / folder for folder in (".config/oneiros", ".local/state", ".oneiros")]
        own.append(self.clone)
        found: dict[str, object] = {}
        for place in sorted(self.home.parent.rglob("*")):
            if any(place.is_relative_to(one) for one in own) or place == self.home / ".local":
                continue
            state = place.lstat()
            content = place.read_bytes() if stat.S_ISREG(state.st_mode) else b""
            size = 0 if stat.S_ISDIR(state.st_mode) else state.st_size  # in memory it grows with what a folder holds
            found[str(place)] = (state.st_mode, state.st_ino, size, content)
        return found


def reaching_out(
    folder: Path, template: Path, plants: Sequence[Plant], commands: Sequence[Sequence[str]]
) -> list[Sequence[str]]:
    """The commands that change a byte outside of a memory with these plants, and of the person's own folders."""
    shutil.rmtree(folder, ignore_errors=True)
    scene = Scene(folder, template)
    for where, what in plants:
        scene.plant(where, what)
    before, found = scene.untouched(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO())
        for command in commands:
            if command[0] in EVENTS:
                scene.hook(command[0], patch)
            else:
                scene.run(command)
            if scene.untouched() != before:
                found.append(command)
    return found


def test_what_the_checks_look_at_is_used_by_the_commands(
    tmp_path: Path, template: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reaching_out(tmp_path / "scene", template, [], [*COMMANDS, *((event,) for event in EVENTS)]) == []

    made = [str(path.relative_to(tmp_path / "scene" / "home")) for path in (tmp_path / "scene" / "home").rglob("*")]
    assert {"clone/memory/.oneiros/ledger.db", "clone/memory/sessions/archive/objects"} <= set(made)
    assert [path for path in made if "reports/" in path] and [path for path in made if "episodes/2" in path]
    assert [path for path in made if "state" in path and path.endswith("approvals.jsonl")]


LEFT_THE_ROOT: tuple[tuple[str, str, tuple[str, ...]], ...] = (  # where nothing looks the root over
    ("sessions/archive", "link to a folder", ("ingest",)),
    ("sessions/archive/objects", "link to a folder", ("ingest",)),
    ("sessions/compressed", "link to a folder", ("ingest",)),
    ("reports", "link to a folder", ("report",)),
    ("episodes", "link to a folder", ("episode", "The staging server moved.")),
    (".oneiros/ledger.db", "link to nothing", ("reindex",)),
    ("oneiros.toml", "link to nothing", ("init",)),
    (".oneiros", "link to a folder", ("recall", "relay")),
    ("proposals/.journal.json", "plan", ("report",)),
)


@pytest.mark.parametrize(("where", "what", "command"), LEFT_THE_ROOT)
def test_a_link_that_a_command_would_follow_is_not_followed(
    tmp_path: Path, template: Path, where: str, what: str, command: tuple[str, ...]
) -> None:
    assert reaching_out(tmp_path / "scene", template, [(where, what)], [command]) == []


hostile = given(
    plants=st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(KINDS)), min_size=1, max_size=3),
    command=st.sampled_from([*COMMANDS, *((event,) for event in EVENTS)]),
)
FIXTURES = [HealthCheck.function_scoped_fixture]  # the folder is made anew for each example


@hostile
@settings(max_examples=20, suppress_health_check=FIXTURES)
def test_a_command_leaves_everything_outside_as_it_was(
    tmp_path: Path, template: Path, plants: list[Plant], command: tuple[str, ...]
) -> None:
    assert reaching_out(tmp_path / "scene", template, plants, [command]) == []


@pytest.mark.stress
@pytest.mark.timeout(7_200)
@hostile
@settings(max_examples=2_000, suppress_health_check=FIXTURES)
def test_every_command_leaves_everything_outside_as_it_was(
    tmp_path: Path, template: Path, plants: list[Plant], command: tuple[str, ...]
) -> None:
    assert reaching_out(tmp_path / "scene", template, plants, [command]) == []
