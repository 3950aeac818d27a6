"""A project's memory and the account's, asked together: who stands beside whom, and what is said where they differ."""

from dataclasses import replace
from pathlib import Path

import pytest

from memory_server.document import Answer, Certainty, ChunkId, Hit, Layer, LineRange, SourcePath
from memory_server.search.question import parse_query
from memory_server.settings import PersonSettings
from memory_server.settings_file import change_setting
from oneiros.cli.main import main
from oneiros.environment import Environment
from parts.two_memories.door import project_name, together
from parts.two_memories.wanted import uses_both_memories
from tests.conftest import MakeEngine
from tests.memories import new_root, write_topic

OURS, THEIRS = "The shop's relay listens on port 2525.", "The shop's relay listens on port 587."


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """At work in a project whose memory is trusted; the account has one, too."""
    shop, account = new_root(tmp_path / "shop" / "memory"), new_root(tmp_path / "home" / ".oneiros" / "memory")
    write_topic(shop, "mail", f"# Mail\n\n{OURS}\n")
    write_topic(account, "relay", f"# Relay\n\n{THEIRS}\n")
    write_topic(account, "cats", "# Cats\n\nThe grey cat sleeps on the warm oven all day.\n")
    found = Environment({"HF_HUB_CACHE": "/nowhere"}, tmp_path / "home", tmp_path / "shop")
    change_setting(found.person_file, "trusted_roots", [str(shop.path)])
    return Environment({"HF_HUB_CACHE": "/nowhere"}, tmp_path / "home", tmp_path / "shop")


@pytest.fixture(autouse=True)
def one_engine(make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneiros.opening.OnnxEngine", make_engine)


def ask(environment: Environment, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    """What a command prints and tells, without a daemon."""
    main([*words], Environment(environment.variables, environment.home, environment.working_folder))
    return capsys.readouterr()


def test_who_stands_beside_whom(environment: Environment, tmp_path: Path) -> None:
    account, shop, person = environment.own_root, environment.choice.root, environment.person
    (tmp_path / "link").symlink_to(shop.path)

    assert uses_both_memories(account, shop, person)
    assert uses_both_memories(account, shop, replace(person, trusted_roots=(str(tmp_path / "link"),)))
    assert not uses_both_memories(account, shop, replace(person, both_memories=False))
    assert not uses_both_memories(account, shop, PersonSettings())
    assert not uses_both_memories(account, account, replace(person, trusted_roots=(str(account.path),)))
    assert not uses_both_memories(environment.resolve_root(tmp_path / "none"), shop, person)
    assert project_name(shop) == "shop"


def test_a_command_shows_both_and_says_that_they_differ(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("shop", "home"):
        main(["reindex"], replace(environment, working_folder=environment.working_folder.parent / folder))
    capsys.readouterr()

    shown, output = ask(environment, capsys, "recall", "--no-daemon", "which port does the relay of the shop listen on")

    places = [line for line in shown.splitlines() if line.startswith("      ")]
    assert "  project shop" in places[0] and "  topics/mail.md:" in places[0]
    assert "  account  " in places[1] and "  account:topics/relay.md:" in places[1]
    assert "replaced by topics/mail.md" in places[1]
    differ = "topics/mail.md:3 and account:topics/relay.md:3 differ (the address differs: 2525 / 587)"
    assert f"hits. {differ}; here the project's applies. Read on: oneiros read topics/mail.md:3" in output
    shown, output = ask(environment, capsys, "read", "account:topics/relay.md")
    assert THEIRS in shown and output.startswith("account:topics/relay.md:")
    change_setting(environment.person_file, "both_memories", False)
    shown, _ = ask(environment, capsys, "recall", "--no-daemon", "which port does the relay of the shop listen on")
    assert "account" not in shown and "project shop" not in shown


@pytest.mark.parametrize(
    "name",
    ["account:../../.config/oneiros/config.toml", "account:/etc/passwd", "account:mail", "account:account:relay"],
)
def test_an_address_leads_to_no_file_but_the_accounts_sources(
    environment: Environment, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    shown, output = ask(environment, capsys, "read", name)

    assert shown == ""
    assert "no source named" in output


def test_the_projects_topic_stands_before_one_that_it_goes_against(environment: Environment) -> None:
    def hit(name: str, passage: str) -> Hit:
        path = SourcePath(f"topics/{name}.md")
        return Hit(
            ChunkId(name), passage, path, LineRange(3, 3), Layer.TOPIC, name, None, score=0.5, certainty=Certainty.SURE
        )

    ours = Answer((hit("other", "Cats sleep."), hit("mail", OURS)), confidence=0.5)
    theirs = Answer((hit("relay", THEIRS), hit("post", THEIRS), hit("cats", "A cat sleeps.")), confidence=0.99)
    question = parse_query("relay port")

    answer = together(question, ours, theirs, environment.choice.root)
    unapproved = replace(theirs, hits=tuple(replace(one, unapproved=True) for one in theirs.hits))

    assert [one.path for one in answer.hits][:2] == ["topics/mail.md", "account:topics/relay.md"]
    assert [one.path for one in answer.hits if one.replaced_by] == ["account:topics/relay.md", "account:topics/post.md"]
    assert answer.note.count("differ (") == 2
    assert "differ (" not in together(question, ours, unapproved, environment.choice.root).note
    near = replace(theirs, hits=tuple(replace(one, certainty=Certainty.PERHAPS) for one in theirs.hits))
    assert "differ (" not in together(question, ours, near, environment.choice.root).note
