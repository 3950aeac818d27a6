"""What a program of the same account tries so as to be approved unseen: refused, or named to the person."""

import dataclasses
import datetime as dt
import hashlib
from functools import partial
from pathlib import Path

import msgspec
import pytest

from dream.decisions.accept import Decisions
from dream.decisions.chain import Chain, ChainEntry, FileDigest, Head, entry_for
from dream.decisions.journal import Plan, PlannedFile
from dream.decisions.key import sign
from dream.decisions.presence import Consent, How
from dream.proposals.store import Approval, Event, FileChange
from dream.records import hash_of
from memory_server.errors import ContentError
from memory_server.machine.files import append_line
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.hooks.review import ReviewNotice
from oneiros.hooks.without_daemon import start_without_daemon
from tests.dream.builders import NOW, PERSON, extending, git, new_topic, proposed
from tests.dream.test_consent import made_key, on, public_line, signed, start, told_without_daemon
from tests.memories import new_root, write_topic

CATS, MAIL = "topics/cats.md", "topics/mail.md"
LONG_AGO = NOW - dt.timedelta(days=365)


@pytest.fixture(scope="module")
def her_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signing key whose passphrase a test need not type."""
    return made_key(tmp_path_factory.mktemp("key") / "key")


@pytest.fixture
def memory(tmp_path: Path) -> MemoryRoot:
    """A memory in git of which the person was told all that there is."""
    made = new_root(tmp_path / "memory")
    write_topic(made, "mail", "# Mail\n\nThe relay is old.\n")
    (made.path / ".gitignore").write_text("proposals/\n.oneiros/\n", encoding="utf-8")
    git(made.path, "init", "--quiet")
    git(made.path, "add", ".")
    git(made.path, "commit", "--quiet", "-m", "Begin")
    start(made, days=-10)
    start(made)
    return made


@pytest.fixture
def keyed_memory(memory: MemoryRoot, her_key: Path) -> MemoryRoot:
    """The memory after its person made a key."""
    decisions = on(memory, her_key)
    decisions.adopt_explained(Consent(How.KEY))
    signed(decisions, her_key)
    assert start(memory, her_key) == ""
    return memory


def planted(path: str, text: str, nonce: str = "f" * 16, at: dt.datetime = NOW) -> Approval:
    """An acceptance that nobody gave, of a new file."""
    return Approval(Event.ACCEPTED, at, (FileChange(path, "", hash_of(text), hash_of(text)),), nonce=nonce)


def reported(root: MemoryRoot, key: Path | None = None, days: int = 0) -> str:
    """What the report says of unsigned decisions, so many days later."""
    now = NOW + dt.timedelta(days=days)
    return "\n".join(doubt.what for doubt in on(root, key, now).doubts()[1].of_week(now))


# -- a sitting under way --------------------------------------------------------------------------------------------


def test_a_plan_that_was_planted_during_a_review_is_not_signed_along(keyed_memory: MemoryRoot, her_key: Path) -> None:
    decisions = on(keyed_memory, her_key)
    [hunk] = proposed(decisions, new_topic("Backups run.", "backups"))
    plan = Plan((PlannedFile(CATS, "", "The cat."),), planted(CATS, "The cat."), (), "")
    keyed_memory.journal.write_bytes(msgspec.json.encode(plan))

    decisions.accept(hunk.id, Consent(How.KEY))
    signed(decisions, her_key)

    assert {one.path for one in on(keyed_memory, her_key).unexplained()} == {CATS}
