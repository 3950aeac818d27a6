"""A person consents at a terminal of their own: with a key once a sitting, whatever is decided in it."""

import re
import subprocess

import pytest

from dream.changes import Event
from dream.decisions.chain import Chain
from dream.decisions.presence import Consent, How
from memory_server.settings import read_person_settings
from tests.dream.builders import archive_statements, decisions_on, new_topic, proposed
from tests.system.at_terminal import ONEIROS, SETTLE, TAKE_UP, WORD, at_terminal
from tests.system.house import House

PASSPHRASE = "a long passphrase\n"
PASSPHRASE_TWICE = [(r"Enter passphrase \(empty", PASSPHRASE), (r"same passphrase", PASSPHRASE)]
SIGN = (r"Enter passphrase", PASSPHRASE)
STATEMENTS = [f"Service {number} listens on port {number}." for number in range(2_001, 2_013)]


@pytest.fixture
def keyed(house: House) -> House:
    """A memory with twelve open hunks, whose person has made a key."""
    root = house.memory_root
    archive_statements(root, *STATEMENTS)
    updates = [new_topic(text, f"service-{number}", number) for number, text in enumerate(STATEMENTS, start=1)]
    proposed(decisions_on(root), *updates)
    seen = at_terminal(house, [WORD, *PASSPHRASE_TWICE, SIGN], "key", "new")
    assert seen.code == 0 and "Your key: SHA256:" in seen.screen, seen
    return house


def test_a_key_signs_nothing_unsigned_that_its_person_was_not_shown(house: House) -> None:
    archive_statements(house.memory_root, *STATEMENTS)
    decisions = decisions_on(house.memory_root)
    [hunk] = proposed(decisions, new_topic(STATEMENTS[0], "service"))
    decisions.accept(hunk.id, Consent(How.WORD))

    seen = at_terminal(house, [WORD, *PASSPHRASE_TWICE, SIGN], "key", "new")

    assert seen.code == 0 and "accepted in topics/service.md (by word" in seen.screen, seen


def public_key(house: House) -> str:
    return read_person_settings(house.folder / ".config" / "oneiros" / "config.toml").signing_key


def test_a_review_of_twelve_hunks_asks_once_and_is_signed(keyed: House) -> None:
    accepted = [(TAKE_UP, "a\n")] * 12

    seen = at_terminal(keyed, [*accepted, SETTLE, SIGN], "review")

    assert seen.code == 0 and "12 accepted" in seen.screen and not seen.left, seen
    assert len(re.findall("passphrase", seen.screen)) == 1 and "type the word" not in seen.screen
    chain = Chain(keyed.memory_root, public_key(keyed))
    accepted_entries = [at for at, entry in enumerate(chain.entries) if entry.event is Event.ACCEPTED]
    assert len(accepted_entries) == 12 and all(map(chain.is_signed, accepted_entries))


def test_a_wrong_passphrase_signs_nothing_and_what_was_decided_is_named(keyed: House) -> None:
    steps = [
        (TAKE_UP, "a\n"),
        (TAKE_UP, "q\n"),
        SETTLE,
        (r"Enter passphrase", "guess\n"),
    ]

    seen = at_terminal(keyed, steps, "review")

    assert seen.code == 3 and "your decisions stand unsigned" in seen.screen, seen
    told = keyed.answer_of_hook("SessionStart", {"session_id": "1"})
    assert "topics/service-1.md (decided without a signature)" in told["systemMessage"]


def test_an_agent_in_the_environment_unlocks_nothing(keyed: House) -> None:
    """The private key is encrypted, and no agent of the session is asked for it."""
    key = keyed.folder / ".config" / "oneiros" / "signing-key"
    assert b"OPENSSH PRIVATE KEY" in key.read_bytes() and (key.stat().st_mode & 0o077) == 0
    opened = subprocess.run(["ssh-keygen", "-y", "-P", "", "-f", str(key)], capture_output=True)
    assert opened.returncode != 0

    seen = at_terminal(
        keyed,
        [(TAKE_UP, "a\n"), (TAKE_UP, "q\n"), SETTLE, SIGN],
        "review",
        variables={"SSH_AUTH_SOCK": "/nonexistent", "SSH_ASKPASS": "/bin/echo", "SSH_ASKPASS_REQUIRE": "force"},
    )

    assert seen.code == 0 and not seen.left, seen


def test_a_new_key_asks_for_the_old_one(keyed: House) -> None:
    old = public_key(keyed)

    refused = at_terminal(keyed, [(r"Enter passphrase", "guess\n")], "key", "new")
    assert refused.code == 3 and public_key(keyed) == old, refused
    seen = at_terminal(keyed, [SIGN, *PASSPHRASE_TWICE, SIGN], "key", "new")

    assert seen.code == 0 and not seen.left and public_key(keyed) != old, seen


def test_a_key_without_a_passphrase_is_refused(house: House) -> None:
    seen = at_terminal(house, [WORD, (r"Enter passphrase", "\n"), (r"same passphrase", "\n")], "key", "new")

    assert seen.code == 2 and "without a passphrase signs for everybody" in seen.screen, seen
    assert not (house.folder / ".config" / "oneiros" / "signing-key").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("trust", "memory"),
        ("forget", "11111111"),
        ("key", "new"),
        ("init", "/tmp/elsewhere"),
        ("config", "crawl_roots", "/"),
        ("config", "machines", "laptop=ssh://laptop"),
        ("config", "reader", "claude-cli"),
        ("config", "budget_day_usd", "1000"),
    ],
)
def test_what_a_person_alone_may_do_is_refused_without_a_terminal(house: House, arguments: tuple[str, ...]) -> None:
    archive_statements(house.memory_root, *STATEMENTS)
    before = {path: path.read_bytes() for path in house.folder.rglob("*.toml")}

    refused = subprocess.run(
        [*ONEIROS, *arguments],
        env=dict(house.variables),
        cwd=house.folder,
        start_new_session=True,
        capture_output=True,
        text=True,
    )

    assert refused.returncode == 2 and "there is no terminal" in refused.stderr, refused
    assert ("settings file yourself" in refused.stderr) == (arguments[0] in ("trust", "init", "config"))
    assert {path: path.read_bytes() for path in house.folder.rglob("*.toml")} == before


@pytest.mark.parametrize("arguments", [("trust", "memory"), ("config", "crawl_roots", "/")])
def test_the_assistant_at_a_terminal_is_refused_too(house: House, arguments: tuple[str, ...]) -> None:
    seen = at_terminal(house, [WORD], *arguments, variables={"CLAUDECODE": "1"})

    assert seen.code == 2 and "the assistant cannot accept" in seen.screen, seen


def test_a_person_sets_what_is_read_with_their_signature(keyed: House) -> None:
    seen = at_terminal(keyed, [SIGN], "config", "crawl_roots", "/mnt/laptop")

    assert seen.code == 0, seen
    settings = read_person_settings(keyed.folder / ".config" / "oneiros" / "config.toml")
    assert settings.crawl_roots == ("/mnt/laptop",)


def test_a_session_is_forgotten_while_an_idle_daemon_runs(house: House) -> None:
    archive_statements(house.memory_root, *STATEMENTS)
    house.serve()

    seen = at_terminal(house, [WORD], "forget", "11111111")

    assert seen.code == 0 and "Forgotten" in seen.screen, seen
    assert house.command("drill", "11111111", check=False).returncode == 1
