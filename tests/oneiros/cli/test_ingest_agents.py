"""Conversations of other agents, through the command."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.evidence import Evidence
from memory_server.layers.sessions import read_session
from oneiros.cli.main import main
from oneiros.environment import Environment
from oneiros.ingest.settings import open_archive
from tests.memories import without_daemon
from tests.parts.agents.builders import THREAD, make_message, rollout

Oneiros = Callable[..., tuple[int, str, str]]
PROMPT = make_message("user", 1, "The relay in the hall loses its connection after an hour.")
REPLIED = make_message("assistant", 2, "The cause is the idle timeout of the proxy.")


@pytest.fixture
def home(tmp_path: Path, founded: Path) -> Path:
    """A home with a memory and one conversation with Codex."""
    shutil.copytree(founded, tmp_path / "mem")
    rollout(tmp_path / ".codex", PROMPT, REPLIED)
    return tmp_path


@pytest.fixture
def oneiros(home: Path, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(without_daemon(arguments), environment_of(home))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def environment_of(home: Path) -> Environment:
    return Environment({"ONEIROS_ROOT": str(home / "mem")}, home, home)


def ingested(oneiros: Oneiros, *arguments: str) -> dict[str, object]:
    report: dict[str, object] = json.loads(oneiros("ingest", *arguments, "--json")[1])
    return report


def test_nothing_of_another_agent_is_read_without_a_word_of_the_person(oneiros: Oneiros) -> None:
    assert ingested(oneiros)["sessions"] == []


def test_an_agent_is_read_once_by_an_option_and_always_by_a_setting(oneiros: Oneiros, home: Path) -> None:
    assert ingested(oneiros, "--agent", "codex")["sessions"] == [THREAD]
    assert oneiros("recall", "relay connection", "agent:codex")[0] == 0
    assert oneiros("recall", "relay connection", "--agent", "claude")[0] == 1
    assert read_session(next((home / "mem" / "sessions" / "compressed").rglob("*.md"))).agent == "codex"

    rollout(home / ".codex", PROMPT, REPLIED, make_message("user", 3, "Raise it to two hours."))
    assert ingested(oneiros)["sessions"] == []
    assert oneiros("config", "agents", "codex,emacs")[0] == 2
    assert oneiros("config", "agents", "codex,gemini")[0] == 0
    report = ingested(oneiros)

    assert (report["read"], report["entries"]) == (1, 1)
    assert ingested(oneiros)["unchanged"] == 1


def test_claude_codes_own_reader_refuses_the_file_by_name(oneiros: Oneiros, home: Path) -> None:
    path = next((home / ".codex").rglob("*.jsonl"))

    code, _, err = oneiros("ingest", str(path))

    assert "refused, written by Codex" in err and code == 0


def test_what_is_archived_is_masked(oneiros: Oneiros, home: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    rollout(home / ".codex", make_message("user", 1, f"Use the token {secret} for it."))

    ingested(oneiros, "--agent", "codex")

    [turn] = open_archive(environment_of(home).choice.root).turns(THREAD)
    assert secret not in turn.text and turn.text.startswith("Use the token")


def test_a_forgotten_session_stays_out(oneiros: Oneiros, home: Path) -> None:
    ingested(oneiros, "--agent", "codex")
    oneiros("forget", THREAD)
    rollout(home / ".codex", PROMPT, REPLIED, make_message("user", 3, "Raise it to two hours."))

    assert ingested(oneiros, "--agent", "codex")["sessions"] == []


def test_of_an_imported_conversation_only_the_persons_words_are_evidence(oneiros: Oneiros, home: Path) -> None:
    talk = home / "talk.txt"
    talk.write_text("Alice: We deploy on Mondays.\nBob: We always deploy on Fridays.\n", encoding="utf-8")

    ingested(oneiros, "--as", "chat", str(talk), "--me", "Alice")

    archive = open_archive(environment_of(home).choice.root)
    [session] = archive.session_ids()
    spoken = Evidence(archive).session(session).spoken_turns
    assert [turn.text for turn in spoken] == ["We deploy on Mondays."]


def test_two_conversations_of_one_file_are_two_sessions(oneiros: Oneiros, home: Path) -> None:
    lines = [{"messages": [{"role": "user", "content": text}]} for text in ("Which port?", "Which host?")]
    path = home / "talks.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    assert len(ingested(oneiros, "--as", "chat", str(path))["sessions"]) == 2  # type: ignore[arg-type]
    assert ingested(oneiros, "--as", "chat", str(path))["unchanged"] == 1


@pytest.mark.parametrize(
    ("arguments", "said_so"),
    [
        (("--agent", "emacs"), "there is no reader 'emacs'"),
        (("--as", "chat"), "--as and --me go with a path"),
        (("--me", "Alice"), "--as and --me go with a path"),
        (("--agent", "gemini"), "there are no conversations of Gemini CLI to read"),
    ],
)
def test_what_cannot_be_is_the_persons_error(oneiros: Oneiros, arguments: tuple[str, ...], said_so: str) -> None:
    code, _, err = oneiros("ingest", *arguments)

    assert code == 2 and said_so in err
