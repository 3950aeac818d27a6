"""Every command of the table in the situations in which a stranger types it: each says what, where and what next."""

import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.index.build import UNFINISHED
from oneiros.cli.main import main
from oneiros.cli.table import group_commands
from oneiros.doctor import examine
from oneiros.environment import Environment
from oneiros.opening import open_memory
from oneiros.parts import load_shipped_parts
from tests.memories import without_daemon, write_topic

COMMANDS = [row.name for rows in group_commands(load_shipped_parts()).values() for row in rows]
STAYING = ("mcp", "serve", "open")  # serve until they are ended; typed wrong they end at once
NOT_FORESEEN = re.compile(r"Traceback|unexpectedly|Errno|\bNone\b|object at 0x|Exception")

# A wrong argument of each command, its exit code and what is said of it.
WRONG = (
    ("recall zzz --layer topc", 2, "Known ones: topic, session, raw, reference."),
    ("search zzz --before someday", 2, "someday"),
    ('exact ""', 2, "empty"),
    ("chat zzz", 2, "`oneiros config chat_backend"),
    ("read prots", 1, "Did you mean ports?"),
    ("topics lst", 2, "there is no command `topics lst`"),
    ("topics mv prots x", 2, "Did you mean ports?"),
    ("init --model bgee", 2, "Did you mean bge"),
    ("trust /nosuch", 2, "Name the folder of a memory."),
    ("key zzz", 2, "No such command 'zzz'"),
    ("config embeding_share", 2, "Did you mean embedding_share"),
    ("config embedding_share 7", 2, "It takes a number above 0 up to 1."),
    ("mute prots", 2, "Did you mean ports?"),
    ("setup --nosuch", 2, "No such option"),
    ("uninstall --nosuch", 2, "No such option"),
    ("ingest /nosuch/x.jsonl", 2, "Name a transcript or a folder."),
    ("drill zzz", 1, "`zzz`"),
    ("archive restore /nosuch", 1, "Name one that `oneiros` wrote."),
    ("redact /nosuch", 2, "Name a file."),
    ("forget zzz", 1, "`zzz`"),
    ("remember", 2, "--editor"),
    ("wrong prots:3 x", 2, "Did you mean ports?"),
    ("import --mif /nosuch", 2, "Name the folder of a MIF bundle."),
    ("readings --nosuch", 2, "No such option"),
    ("dream adpt", 2, "Did you mean 'adopt'?"),
    ("dream blame prots:3", 1, "Did you mean ports?"),
    ("review", 2, "`oneiros review --list`"),
    ("report --nosuch", 2, "No such option"),
    ("skills draft zzz", 2, "`oneiros skills` names"),
    ("export", 2, "--approved FILE"),
    ("publish zzz", 1, "`oneiros review --list` names them."),
    ("team --nosuch", 2, "No such option"),
    ("status --project shpo", 2, "Did you mean shop?"),
    ("reindex --nosuch", 2, "No such option"),
    ("validate zzz", 2, "unexpected extra argument"),
    ("doctor zzz", 2, "unexpected extra argument"),
    ("gc zzz", 2, "No such command 'zzz'"),
    ("keep prots", 1, "Did you mean ports?"),
    ("backup --restore /nosuch", 2, "ONEIROS_ROOT="),
    ("backup", 2, "`oneiros backup FILE` writes it"),
    ("setup --plugin", 2, "Claude Code is not on PATH."),
    ("queries --limit 0", 2, "1<=x<=1000"),
    ("model bgee", 2, "Did you mean bge"),
    ("mcp zzz", 2, "unexpected extra argument"),
    ("serve zzz", 2, "unexpected extra argument"),
    ("stop zzz", 2, "unexpected extra argument"),
    ("open zzz", 2, ""),
    ('episode ""', 2, ""),
    ("episodes zzz", 1, "`oneiros episodes` lists them"),
    ("trainer status --host zzz", 2, "http://host:3011"),
)


@pytest.fixture
def nobody(tmp_path: Path) -> Environment:
    """A person who has no memory, and no network."""
    variables = {
        "HOME": str(tmp_path),
        "HF_HUB_CACHE": "/x",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": "/usr/bin",
    }
    return Environment(variables, tmp_path, tmp_path)


@pytest.fixture(autouse=True)
def nothing_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())


@pytest.fixture
def person(nobody: Environment, founded: Path) -> Environment:
    """A person whose memory holds a topic of theirs and one of the project shop."""
    root = shutil.copytree(founded, nobody.home / ".oneiros" / "memory")
    write_topic(root, "ports", "# Ports\n\nThe relay listens on port 2525.\n")
    write_topic(root, "shop/refunds", "# Refunds\n\nRefunds take five days.\n", project="shop")
    return nobody


def run_command(arguments: list[str], person: Environment, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code of a command and all that it prints."""
    code = main(without_daemon(arguments), person)
    return code, "".join(capsys.readouterr())


def test_help_is_the_help_of_all_or_of_a_command(person: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["help"], person, capsys) == run_command(["--help"], person, capsys)
    code, shown = run_command(["help", "gc"], person, capsys)
    assert code == 0 and "Usage: oneiros gc" in shown


def test_an_empty_memory_says_that_nothing_is_in_it(
    nobody: Environment, founded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shutil.copytree(founded, nobody.home / ".oneiros" / "memory")

    assert f"{root}: nothing is in it yet." in run_command([], nobody, capsys)[1]


def test_one_of_a_thing_is_told_in_the_singular(person: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(["exact", "refunds"], person, capsys)

    assert "exact    1 hit   refunds\n1 question, 0 found nothing." in run_command(["queries"], person, capsys)[1]


def test_each_command_has_a_wrong_argument() -> None:
    assert {line.split()[0] for line, _, _ in WRONG} == set(COMMANDS)


@pytest.mark.parametrize(("line", "code", "says"), WRONG, ids=[line for line, _, _ in WRONG])
def test_a_wrong_argument_is_answered_by_what_to_type(
    person: Environment, capsys: pytest.CaptureFixture[str], line: str, code: int, says: str
) -> None:
    words = [word.strip('"') for word in line.split(" ")]

    output = run_command(words, person, capsys)

    assert output[0] == code, output
    assert says in output[1] and output[1].strip()
    assert not NOT_FORESEEN.search(output[1])


@pytest.fixture(params=["no memory", "an empty memory", "a run under way"])
def situation(request: pytest.FixtureRequest, nobody: Environment) -> Iterator[Environment]:
    if request.param == "no memory":
        yield nobody
        return
    request.getfixturevalue("person")
    with open_memory(nobody) as memory:
        if request.param == "an empty memory":
            shutil.rmtree(memory.root.topics)
            memory.root.topics.mkdir()
        memory.own()
        memory.reindex()
        if request.param == "a run under way":
            memory.indices.ledger.set_note(UNFINISHED, "yes")
            yield nobody
    if request.param == "an empty memory":
        yield nobody


def test_no_command_fails_unforeseen(situation: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (name for name in COMMANDS if name not in STAYING):
        for arguments in ([command], [command, "zzz"]):
            code, output = run_command(arguments, situation, capsys)

            assert code in (0, 1, 2, 3), (arguments, code, output)
            assert output.strip() and not NOT_FORESEEN.search(output), (arguments, output)


def test_doctor_calls_nothing_failed_that_another_process_has_under_way(
    person: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_server.inspection.Inspection.unfound", lambda *_: 3)

    def words() -> list[str]:
        return [finding.state for name, finding in examine(person) if name == "words"]

    with open_memory(person) as memory:
        memory.own()
        memory.reindex()
        memory.indices.ledger.set_note(UNFINISHED, "yes")
        assert words() == ["warning"]
    assert words() == ["failed"]
