"""The first hour as README and docs/commands.md have it: the example, and a memory of one's own."""

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_server.errors import NeedsRepair
from memory_server.root.state import states_without_root
from oneiros.cli.main import main
from oneiros.environment import Environment, now
from oneiros.first_steps import first_steps
from tests.crawler.builders import OTHER_SESSION, person, working_session, write_transcript
from tests.dream.builders import git
from tests.memories import without_daemon
from tests.states import WordEngine

CHECKOUT = Path(__file__).parent.parent.parent.parent
README, COMMANDS = ((CHECKOUT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/commands.md"))
Oneiros = Callable[..., tuple[int, str, str]]


@pytest.fixture
def oneiros(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    """Runs one command in a home with one finished conversation: exit code, stdout, stderr."""
    write_transcript(tmp_path / ".claude" / "projects" / "-work-app", *working_session())

    def run(*words: str) -> tuple[int, str, str]:
        code = main(without_daemon(words), Environment({"HOME": str(tmp_path)}, tmp_path, tmp_path))
        out, output = capsys.readouterr()
        return code, out, output

    return run


def commands_of(page: str, heading: str) -> list[list[str]]:
    """The command lines of a section of a page, without the program."""
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [shlex.split(line, comments=True)[2:] for line in section.splitlines() if line.startswith("$ oneiros ")]


def test_the_five_commands_of_the_docs_make_a_memory_of_ones_own(oneiros: Oneiros, tmp_path: Path) -> None:
    init, ingest, recall, dream, review = commands_of(COMMANDS, "Your own memory, in five commands")
    recall[1] = "why does the relay lose its connection"

    codes = [oneiros(*words)[0] for words in (init, ingest)]
    code, found, _ = oneiros(*recall)
    dreamt, listed = oneiros(*dream), oneiros(*review, "--list")

    assert (codes, code, dreamt[0]) == ([0, 0], 0, 0)
    assert re.search(r"^      (?:likely|perhaps)  sessions/\S+  2026-", found, re.MULTILINE)
    assert listed[0] == (0 if dreamt[1] else 1)
    assert (tmp_path / ".oneiros" / "memory" / ".git").is_dir()


@pytest.mark.system
def test_the_three_commands_of_readme_answer_from_ones_sessions(oneiros: Oneiros) -> None:
    alone, init, recall = commands_of(README, "Yours, in three commands")
    recall[1] = "why does the relay lose its connection"

    assert "1 transcript in 1 folder" in oneiros(*alone)[1]
    assert oneiros(*init)[0] == 0
    assert "sessions/" in oneiros(*recall)[1]
    assert "has ended" in oneiros("stop")[2]  # the daemon that indexes what `ingest --no-wait` took in


def test_readme_is_short_and_what_it_shows_is_there() -> None:
    shown = re.findall(r"\]\(((?:docs|benchmarks|[A-Z]+)[^)#]*)\)", README)

    assert len(README.splitlines()) < 100
    assert [path for path in shown if not (CHECKOUT / path).exists()] == []
    assert (CHECKOUT / "docs" / "images" / "first-minutes.svg").stat().st_size < 1_000_000


def test_init_says_what_it_found_and_what_to_do_next(oneiros: Oneiros, tmp_path: Path) -> None:
    transcript = next((tmp_path / ".claude").rglob("*.jsonl"))
    os.utime(transcript, (0, 0))

    _, _, output = oneiros("init")

    steps = output[output.index("Found ") :].splitlines()
    assert steps[0] == "Found 1 transcript in 1 folder, 0.0 MB; Claude Code deletes 1 of them this week. Next:"
    assert [re.sub(r" +about .*", "", line.strip()) for line in steps[1:4]] == [
        "oneiros ingest --no-wait",
        "oneiros import",
        "oneiros dream",
    ]
    assert re.search(r"found by words after \d+ (s|min), by meaning after \d+ (s|min)$", steps[1])
    assert steps[4] == "All of them in this order: oneiros init --all. Then decide: oneiros review"


def test_what_a_part_offers_beside_a_new_memory_keeps_nothing_else_from_going_on(
    oneiros: Oneiros, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offer(*_: object) -> None:
        raise NeedsRepair("your decisions stand unsigned: ssh-keygen -Y failed")

    monkeypatch.setattr("parts.signing.part._offer_key", offer)
    code, _, output = oneiros("init")

    assert code == 0 and "stand unsigned" in output and "oneiros ingest --no-wait" in output


def test_an_interrupted_ingest_is_told_and_gone_on_with_before_anything_is_indexed(
    oneiros: Oneiros, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / ".oneiros" / "memory"
    assert oneiros("init")[0] == oneiros("ingest")[0] == 0
    assert "oneiros import" in oneiros()[1] and "oneiros dream" in oneiros()[1]
    (memory / "proposals").mkdir()
    assert "Nothing waits for you" in oneiros()[2]
    (memory / "proposals").rmdir()
    for made in (memory / "sessions" / "compressed").rglob("*.md"):
        made.unlink()

    assert "oneiros ingest  1 session not compressed yet" in oneiros()[1]
    assert "Found 1 session not compressed yet. Next:" in oneiros("init")[2]
    ran: list[str] = []
    monkeypatch.setattr("oneiros.cli.founding.brought_level", lambda *_: ran.append("index"))
    monkeypatch.setattr("oneiros.cli.founding._run_steps", lambda first, *_: ran.append(first.steps[0].command))
    assert oneiros("init", "--all")[0] == 0
    assert ran == ["ingest --no-wait"]


def test_what_is_left_of_the_first_steps_is_named_until_something_was_proposed(
    oneiros: Oneiros, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an interrupted `init --all` leaves it: everything is taken in, and nothing dreamt."""
    monkeypatch.setattr("oneiros.opening.OnnxEngine", WordEngine)  # nothing is asked by meaning
    oneiros("init")
    oneiros("ingest")
    environment = Environment({"HOME": str(tmp_path)}, tmp_path, tmp_path)
    left = first_steps(environment, environment.own_root, now())
    (environment.own_root.path / "proposals").mkdir(exist_ok=True)

    assert left is not None and [step.command for step in left.steps] == ["import", "dream"]
    assert first_steps(environment, environment.own_root, now()) is None


def test_a_busy_machine_takes_longer_by_the_estimate(oneiros: Oneiros, tmp_path: Path) -> None:
    oneiros("init")
    transcript = next((tmp_path / ".claude").rglob("*.jsonl"))
    os.truncate(transcript, 40_000_000)  # zeros behind its lines
    environment = Environment({"HOME": str(tmp_path)}, tmp_path, tmp_path)

    idle, busy = (first_steps(environment, environment.own_root, now(), load) for load in (0.0, 64.0))

    assert idle is not None and busy is not None
    assert busy.steps[0].seconds > 10 * idle.steps[0].seconds


def test_sessions_are_not_taken_into_the_example_unasked(
    oneiros: Oneiros, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oneiros.opening.OnnxEngine", WordEngine)  # nothing is asked by meaning
    oneiros("init", "--example")

    code, _, output = oneiros("init", "--all")

    assert "oneiros init --own --all  1 transcript not archived yet" in oneiros()[1]
    assert code == 2 and "the example memory" in output and "oneiros init --own --all" in output
    assert not (tmp_path / ".oneiros" / "memory" / "sessions" / "archive").exists()


def test_looking_makes_nothing_where_no_memory_is(oneiros: Oneiros, tmp_path: Path) -> None:
    assert "There is no memory yet" in oneiros()[1]

    assert not (tmp_path / ".oneiros").exists()


def test_a_memory_that_was_moved_is_missed_and_found_again(oneiros: Oneiros, tmp_path: Path) -> None:
    place = tmp_path / ".oneiros" / "memory"
    oneiros("init")
    oneiros("ingest")
    place.rename(tmp_path / "notes")

    told = " ".join(oneiros()[1].split())

    assert f"The memory that lay in {place} is there no more" in told and f"ln -s ITS_FOLDER {place}" in told
    assert not place.exists()
    place.symlink_to(tmp_path / "notes")
    assert "1 archived" in oneiros()[1]


def test_the_example_is_left_by_one_command_and_stays_beside(
    oneiros: Oneiros, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oneiros.opening.OnnxEngine", WordEngine)  # nothing is asked by meaning
    oneiros("init", "--example")
    assert oneiros("exact", "ChromaDB")[0] == 0
    [questions] = tmp_path.rglob("questions.jsonl")
    assert "memory" not in questions.relative_to(tmp_path).parts, "they are the person's state, not the memory's"
    assert "oneiros init --own" in README
    assert "This is the example memory" in oneiros("init")[2]

    assert oneiros("init", "--own")[0] == 0

    assert (tmp_path / ".oneiros" / "example" / "topics" / "chromadb.md").is_file()
    assert [*states_without_root(tmp_path / ".local" / "state" / "oneiros")] == []
    assert oneiros("exact", "ChromaDB")[:2] == (1, "")
    assert oneiros("topics")[2].startswith("0 topics and the lessons")
    code, _, output = oneiros("init", "--own")
    assert code == 2 and "is a memory of your own already" in output
    ran: list[str] = []
    monkeypatch.setattr("oneiros.cli.founding._run_steps", lambda first, *_: ran.append(first.steps[0].command))
    assert oneiros("init", "--own", "--all")[0] == 0, "the line of the README goes on with what was interrupted"
    assert ran == ["ingest --no-wait"]


def test_a_memory_in_a_projects_repository_counts_that_projects_sessions_alone(
    tmp_path: Path, oneiros: Oneiros, capsys: pytest.CaptureFixture[str]
) -> None:
    shop, transcripts = tmp_path / "shop", tmp_path / ".claude" / "projects"
    shop.mkdir()
    git(shop, "init", "--quiet")
    environment = Environment({"HOME": str(tmp_path)}, tmp_path, shop)

    main(["init", "memory"], environment)
    none = capsys.readouterr().err
    write_transcript(transcripts / "-shop", person(1, "Ship it.", cwd=str(shop / "web")), session=OTHER_SESSION)
    main(["init", "memory"], environment)
    one = capsys.readouterr().err

    assert "No transcript of shop waits for this memory." in none
    assert "Found 1 transcript in 1 folder" in one
