"""The copy of a team's topics in a person's memory: theirs by their decision, rank 1, and gone when the team's is."""

import datetime as dt
from pathlib import Path

import pytest

from dream.decisions.presence import Consent
from memory_server.errors import UsageError
from parts.team.sharing.team import BELOW, CopyNote, TeamServer, find_changes, take_up_copy
from tests.dream.builders import NOW, PERSON
from tests.dream.test_consent import committed_memory, on

MAIL = f"{BELOW}mail.md"
FILES = {MAIL: "# Mail\n\nThe relay listens on port 2526.\n"}


def test_a_copy_that_the_person_took_up_is_approved_and_goes_when_the_team_takes_it_back(tmp_path: Path) -> None:
    decisions = on(committed_memory(tmp_path / "memory"))
    root = decisions.root

    take_up_copy(decisions, find_changes(root, FILES), lambda: PERSON)

    assert (root.path / MAIL).read_text("utf-8") == FILES[MAIL]
    assert decisions.find_unexplained() == []
    assert find_changes(root, FILES) == {}

    take_up_copy(decisions, find_changes(root, {}), lambda: PERSON)
    assert not (root.path / MAIL).exists()
    assert decisions.find_unexplained() == []
    assert (root.path / "topics" / "mail.md").exists()


def test_without_a_yes_nothing_is_written(tmp_path: Path) -> None:
    decisions = on(committed_memory(tmp_path / "memory"))

    def no() -> Consent:
        raise UsageError("that was no yes")

    with pytest.raises(UsageError):
        take_up_copy(decisions, find_changes(decisions.root, FILES), no)

    assert not (decisions.root.path / MAIL).exists()


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        (dt.timedelta(minutes=59), "less than an hour old"),
        (dt.timedelta(hours=47), "47 hours old"),
        (dt.timedelta(days=3, hours=5), "3 days old"),
    ],
)
def test_a_copy_says_how_old_it_is(passed: dt.timedelta, expected: str) -> None:
    assert CopyNote("https://x.org", "c0ffee", NOW, 1).age(NOW + passed) == expected


@pytest.mark.parametrize("url", ["", "http://memory.example.org", "ftp://x", "https://a:b@x.org", "file:///etc"])
def test_a_token_goes_to_no_address_in_the_clear(url: str) -> None:
    with pytest.raises(UsageError, match="no address of a team"):
        TeamServer(url, "token")


def test_a_copy_writes_topics_alone_whatever_a_server_names(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"../x.md": "a", "topics/../../x.md": "b", "topics/ok.md": "c", "topics/.x.md": "d", "/etc/x.md": "e"}
    server = TeamServer("https://x.org", "token")
    monkeypatch.setattr(server, "_answer", lambda *_: {"commit": "c", "files": {**given, "topics/n.md": 1}})

    assert server.copy() == ("c", {"topics/team/ok.md": "c"})
