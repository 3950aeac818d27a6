"""`topics mv`, `merge` and `split` as commands: what they print, what they refuse, and how they are undone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler.model.client import Completion, Prompt
from dream.judge.reader import DreamReader
from memory_server.layers.mif import parse_frontmatter
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from oneiros.cli.main import main
from oneiros.environment import Environment
from parts.arranging import deciding
from tests.dream.builders import PERSON, decisions_on, extending, proposed
from tests.memories import write_topic

Oneiros = Callable[..., tuple[int, str, str]]
SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture
def oneiros(tmp_path: Path, founded: Path, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    """Runs commands on a memory of the test's own, which has two topics."""
    shutil.copytree(founded, tmp_path / "mem")
    variables = {"ONEIROS_ROOT": str(tmp_path / "mem"), "XDG_RUNTIME_DIR": str(tmp_path)}
    environment = Environment(variables, tmp_path, tmp_path)
    write_topic(environment.choice.root, "1", "# Mail\n\nSMTP.\n\n## Relay\n\nIt listens on port 2525.\n")
    write_topic(environment.choice.root, "ops", "# Ops\n\nRead [mail](1.md).\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments), environment)
        out, error = capsys.readouterr()
        return code, out, error

    return run


def names(oneiros: Oneiros) -> list[str]:
    return sorted(line.split()[0] for line in oneiros("topics")[1].splitlines())


def test_a_topic_gets_another_name_and_its_old_one_back(oneiros: Oneiros, tmp_path: Path) -> None:
    before = names(oneiros)

    code, out, error = oneiros("topics", "mv", "1", "mail")

    assert code == 0 and out.splitlines()[0] == "Move topics/1.md to topics/mail.md" and "topics/1.md  goes" in out
    assert "mail" in names(oneiros) and "1" not in names(oneiros)
    assert "[mail](mail.md)" in (tmp_path / "mem" / "topics" / "ops.md").read_text(encoding="utf-8")
    assert "(topics/mail.md)" in (tmp_path / "mem" / "MEMORY.md").read_text(encoding="utf-8")
    code, _, output = oneiros("dream", "revert", error.split()[-1])
    assert code == 0 and output.startswith("Undo: Move topics/1.md to topics/mail.md") and names(oneiros) == before


def test_a_statement_is_proposed_for_another_topic_and_nothing_moves_before_the_review(
    oneiros: Oneiros, tmp_path: Path
) -> None:
    root = MemoryRoot(tmp_path / "mem", tmp_path / ".local" / "state" / "oneiros")
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "port 2525", name="1"))
    decisions.accept(hunk.id, PERSON)

    code, out, error = oneiros("topics", "mv", "1:9", "ops")

    assert code == 0 and out.endswith("  It needs TLS.\n  topics/1.md -> topics/ops.md\n") and "oneiros review" in error
    assert "TLS" not in (tmp_path / "mem" / "topics" / "ops.md").read_text(encoding="utf-8")
    assert [one.target for one in decisions.store.hunks() if one.is_open] == ["topics/ops.md"]
    code, _, error = oneiros("topics", "retire", "1")
    assert code == 2 and "1 proposed changes wait for topics/1.md" in error
    for line, why in (("0", "line 0 was asked for"), ("1", "line 1 holds no statement")):
        code, _, error = oneiros("topics", "mv", f"1:{line}", "ops")
        assert code == 2 and why in error
    code, _, error = oneiros("topics", "mv", "1:3", "ops")
    assert code == 2 and "topics/1.md:3 is no statement with one footnote" in error


def test_a_tree_of_topics_goes_by_namespace(oneiros: Oneiros, tmp_path: Path) -> None:
    (tmp_path / "mem" / "topics" / "ops").mkdir()
    (tmp_path / "mem" / "topics" / "ops" / "relay.md").write_text("# Relay\n", encoding="utf-8")

    lines = oneiros("topics", "--tree")[1].splitlines()

    assert lines[0].startswith("1 ") and "ops/" in lines
    assert lines[lines.index("ops/") + 1].startswith("  ops/relay ")


def test_topics_are_merged_and_split(oneiros: Oneiros) -> None:
    before = names(oneiros)

    assert oneiros("topics", "split", "1")[0] == 0 and names(oneiros) == sorted([*before, "relay"])
    assert oneiros("topics", "merge", "1", "relay", "--into", "topics/1.md")[0] == 0 and names(oneiros) == before
    assert oneiros("recall", "--no-daemon", "which port does it listen on")[0] == 0


def test_a_merge_tells_which_fields_go(oneiros: Oneiros, tmp_path: Path) -> None:
    relay = "---\ntitle: Relay\ntags: [mta]\n---\n\n# Relay\n\nIt needs TLS.\n"
    (tmp_path / "mem" / "topics" / "relay.md").write_text(relay, encoding="utf-8")

    _, out, _ = oneiros("topics", "merge", "1", "relay", "--into", "1")

    assert '  goes with the frontmatter, git keeps it:\n    topics/relay.md tags: ["mta"]\n' in out


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (("mv", "nothing", "mail"), 2, "there is no topic named 'nothing'. Name one of these: 1, "),
        (("mv", "1", "ops"), 2, "topics/ops.md is there already"),
        (("mv", "1", "../mail"), 1, "is no target"),
        (("mv", "../../etc/passwd", "mail"), 1, "is no file of layer 1"),
        (("merge", "1", "--into", "mail"), 2, "nothing to merge"),
        (("split", "ops"), 2, "has no sections"),
        (("split", "1", "--into", "mail"), 2, "--heading X"),
    ],
)
def test_what_cannot_be_done_is_told(oneiros: Oneiros, arguments: tuple[str, ...], code: int, what: str) -> None:
    before = names(oneiros)

    found, _, error = oneiros("topics", *arguments)

    assert (found, what in error, names(oneiros)) == (code, True, before), error


def test_a_memory_without_topics_says_so(oneiros: Oneiros, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "mem" / "topics")

    assert oneiros("topics", "mv", "mail", "post")[2] == "there is no topic named 'mail'. There are none yet.\n"


def test_the_list_needs_no_consent(oneiros: Oneiros, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("oneiros.cli.consent.person_at_terminal")

    assert oneiros("topics", "--json")[0] == 0


@pytest.mark.parametrize("option", ["--mif", "--approved"])
def test_an_export_to_no_place_says_so(oneiros: Oneiros, tmp_path: Path, option: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    code, _, error = oneiros("export", option, "file/below")

    assert code == 2 and error.startswith("file/below cannot be written (") and "Name another place." in error


def test_topics_go_out_as_mif_and_come_back_with_their_ids(oneiros: Oneiros, tmp_path: Path) -> None:
    topics = tmp_path / "mem" / "topics"
    (topics / "ops.md").unlink()
    write = (
        "---\nid: ops-1\ntype: procedural\ntitle: Ops\ncreated: 2026-01-02\nproject: mail\n---\n# Ops\n\nRestart it.\n"
    )
    (topics / "ops.md").write_text(write, encoding="utf-8")

    assert oneiros("export", "--mif", "bundle")[0] == 0
    sent = json.loads((tmp_path / "bundle" / "topics" / "ops.jsonld").read_text(encoding="utf-8"))
    assert sent["@type"] == "Concept" and sent["conceptType"] == "procedural" and sent["aliases"] == ["ops-1"]
    assert oneiros("export", "--mif", "bundle")[0] == 2  # it is not empty

    assert oneiros("topics", "retire", "ops")[0] == 0 and "ops" not in names(oneiros)
    assert oneiros("import", "--mif", "bundle")[0] == 0
    back = parse_frontmatter((topics / "ops.md").read_text(encoding="utf-8"))
    assert f"urn:mif:{back.text('id')}" == sent["@id"] and back.text("project") == "mail"
    assert back.body == "# Ops\n\nRestart it.\n" and "extensions" not in back.fields


def test_a_bundle_is_shown_whole_taken_as_topics_and_undone(oneiros: Oneiros, tmp_path: Path) -> None:
    before, folder = names(oneiros), tmp_path / "bundle" / "_semantic" / "mail"
    folder.mkdir(parents=True)
    head = "---\nid: relay-port\ntype: semantic\ncreated: 2026-01-02\n---\n"
    (folder / "relay port.memory.md").write_text(f"{head}# Relay\n\nPort \x1b[31m2526.\n", encoding="utf-8")
    (folder / "tunnel.md").write_text(f"{head.replace('relay-port', 't')}# Tunnel\n\nNone.\n", encoding="utf-8")
    (folder / "plain.md").write_text("# Plain\n", encoding="utf-8")
    (folder / "hidden.md").write_text(f"{head}Never\u200b mind.\n", encoding="utf-8")

    code, out, error = oneiros("import", "--mif", "bundle", "--dry-run")
    assert code == 0 and names(oneiros) == before and "    | None." in out
    assert "plain.md:1: it names no id" in error and "hidden.md" in error and "\x1b" not in out + error

    code, out, error = oneiros("import", "--mif", "bundle")
    assert code == 0 and names(oneiros) == sorted([*before, "semantic/mail/tunnel"])
    assert oneiros("dream", "revert", error.split()[-1])[0] == 0 and names(oneiros) == before


def test_secrets_are_masked_on_both_ways_and_links_are_passed_over(oneiros: Oneiros, tmp_path: Path) -> None:
    folder, head = tmp_path / "theirs", "---\nid: a\ntype: semantic\ncreated: 2026-01-02\n---\n"
    folder.mkdir()
    (folder / "relay.md").write_text(f"{head}The relay's token is {SECRET}.\n", encoding="utf-8")
    (tmp_path / "outside.md").write_text(head.replace("id: a", "id: b") + "Outside.\n", encoding="utf-8")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")

    code, out, _ = oneiros("import", "--mif", "theirs")
    taken = (tmp_path / "mem" / "topics" / "relay.md").read_text(encoding="utf-8")
    assert code == 0 and SECRET not in out + taken and "Outside." not in out and "link" not in names(oneiros)

    (tmp_path / "mem" / "topics" / "relay.md").write_text(f"{head}It is {SECRET}.\n", encoding="utf-8")
    assert oneiros("dream", "adopt", "topics/relay.md")[0] == 0 and oneiros("export", "--mif", "ours")[0] == 0
    sent = [file.read_text(encoding="utf-8") for file in (tmp_path / "ours").rglob("*") if file.is_file()]
    assert sent and all(SECRET not in text for text in sent)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("export", "--mif", "mem/topics/out"), "lies in the memory"),
        (("export", "--mif", "bundle/mif.md"), "is not an empty folder"),
        (("import", "--mif", "nowhere"), "there is no folder"),
        (("import", "--mif", "bundle", "x.md"), "--mif takes one folder"),
        (("import", "--mif", "bundle"), "of the bundle is topics/mif.md with another text"),
        (("import", "--mif", "empty"), "holds nothing that is not here"),
        (("export",), "say what to write"),
    ],
)
def test_a_bundle_that_cannot_be_taken_says_why(
    oneiros: Oneiros, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "bundle" / "mif.md").write_text("---\nid: a\ntype: semantic\ncreated: 2026-01-02\n---\nOne.\n")
    write_topic(Environment({"ONEIROS_ROOT": str(tmp_path / "mem")}, tmp_path, tmp_path).choice.root, "mif", "Two.\n")

    code, _, error = oneiros(*arguments)

    assert code == 2 and expected in error


def test_a_reader_cuts_a_topic_once_it_may_see_it(oneiros: Oneiros, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []

    def ask(prompt: Prompt) -> Completion:
        requests.append(prompt.session)
        return Completion('{"topics": [{"name": "Ports", "summary": "Which ports are taken.", "statements": [2]}]}')

    code, _, error = oneiros("topics", "split", "1", "--reader")
    assert code == 2 and error.startswith("no model is set. oneiros config reader claude-cli")
    assert oneiros("topics", "split", "1", "--reader", "--heading", "Relay")[0] == 2
    closed = DreamReader(ask, Redactor(()), lambda *_: False)
    monkeypatch.setattr(deciding, "build_dream_reader", lambda *_: closed)
    assert oneiros("topics", "split", "1", "--reader")[0] == 2 and requests == []

    monkeypatch.setattr(deciding, "build_dream_reader", lambda *_: DreamReader(ask, Redactor(())))
    code, out, error = oneiros("topics", "split", "1", "--reader")

    assert code == 0 and len(requests) == 1 and "    +summary: Which ports are taken." in out, out
    assert "ports" in names(oneiros)
    assert oneiros("dream", "revert", error.split()[-1])[0] == 0 and "ports" not in names(oneiros)


def test_a_model_sums_up_topics_that_were_filed_without_one(
    oneiros: Oneiros, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = "---\nsummary: Which ports are taken.\n---\n# Ports\n\n- The till takes 80.\n"
    (tmp_path / "mem" / "topics" / "ports.md").write_text(ports, encoding="utf-8")
    requests: list[str] = []

    def ask(prompt: Prompt) -> Completion:
        requests.append(prompt.session)
        return Completion('{"1": "How mail leaves the house."}')

    assert oneiros("topics", "tidy", "--reader")[2].startswith("no model is set. oneiros config reader claude-cli")
    monkeypatch.setattr(deciding, "build_dream_reader", lambda *_: DreamReader(ask, Redactor(()), lambda *_: False))
    assert oneiros("topics", "tidy", "--reader")[0] == 2 and requests == []
    monkeypatch.setattr(deciding, "build_dream_reader", lambda *_: DreamReader(ask, Redactor(())))
    code, out, _ = oneiros("topics", "tidy", "--reader", "1", "ports")

    assert (code, len(requests), "The till takes 80." in requests[0]) == (0, 1, False)
    assert "    +summary: How mail leaves the house." in out, out
