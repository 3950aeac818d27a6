"""Sessions are taken in behind the hooks, whatever the client has written down by then."""

import datetime as dt
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.archive.store import Archive
from memory_server.root.paths import MemoryRoot
from memory_server.settings_file import change_setting
from oneiros.environment import Environment
from oneiros.ingest.behind_hooks import Note, TakingIn
from oneiros.ingest.chosen import archive_folder
from tests.crawler.builders import (
    OTHER_SESSION,
    SESSION,
    assistant,
    person,
    to_lines,
    working_session,
    write_transcript,
)
from tests.memories import new_root
from tests.system.house import wait_until

NO_PROCESS = 2**22 + 1  # beyond the highest number that Linux gives


class Takings:
    """A memory whose sessions are taken in, and what came of it."""

    def __init__(self, home: Path):
        self.root: MemoryRoot = new_root(home / "memory")
        self.transcripts = home / ".claude" / "projects" / "-srv-app"
        self.taken: list[tuple[str, bool]] = []
        self.environment = Environment({}, home, home)
        self.taking_in = TakingIn(self.environment, self.root, lambda *told: self.taken.append(told))

    def said(self, session_id: str = SESSION) -> list[str]:
        return [turn.text for turn in Archive(archive_folder(self.root)).turns(session_id)]

    def compressed(self) -> list[Path]:
        return list(self.root.sessions.rglob("*.md"))


@pytest.fixture
def takings(tmp_path: Path) -> Iterator[Takings]:
    made = Takings(tmp_path)
    yield made
    made.taking_in.close()


def test_a_prompt_that_is_written_behind_its_hook_and_after_an_older_reply_is_taken_in(takings: Takings) -> None:
    file = write_transcript(takings.transcripts, person(1, "first"), assistant(2, "one"))
    takings.taking_in.start()
    takings.taking_in.note(Note(SESSION, str(file)))
    wait_until(lambda: takings.taken == [(SESSION, False)])

    with file.open("ab") as stream:
        stream.write(to_lines(person(3, "second")))

    wait_until(lambda: takings.taken == [(SESSION, False)] * 2)
    assert takings.said() == ["first", "one", "second"]


def test_a_transcript_that_is_not_there_yet_keeps_no_other_session_waiting(takings: Takings) -> None:
    late = takings.transcripts / f"{OTHER_SESSION}.jsonl"
    file = write_transcript(takings.transcripts, person(1, "first"))
    takings.taking_in.note(Note(OTHER_SESSION, str(late)))
    takings.taking_in.note(Note(SESSION, str(file)))

    takings.taking_in.start()
    wait_until(lambda: takings.taken == [(SESSION, False)])
    write_transcript(takings.transcripts, person(11, "later", session=OTHER_SESSION), session=OTHER_SESSION)

    wait_until(lambda: takings.taken == [(SESSION, False), (OTHER_SESSION, False)])
    assert takings.said(OTHER_SESSION) == ["later"]


def test_a_session_that_ended_is_compressed_although_it_was_noted_again(takings: Takings) -> None:
    file = write_transcript(takings.transcripts, person(1, "Which port?"), assistant(2, "The relay listens on 2525."))
    takings.taking_in.note(Note(SESSION, str(file), has_ended=True))
    takings.taking_in.note(Note(SESSION, str(file)))

    takings.taking_in.start()

    wait_until(lambda: takings.taken == [(SESSION, True)])
    assert len(takings.compressed()) == 1


def test_a_session_that_said_it_ended_is_compressed_once_its_client_is_gone(takings: Takings) -> None:
    file = write_transcript(takings.transcripts, person(1, "Which port?"))
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as client:
        takings.taking_in.note(Note(SESSION, str(file), has_ended=True, client_pid=client.pid))
        takings.taking_in.start()
        wait_until(lambda: takings.taken == [(SESSION, False)])
        with file.open("ab") as stream:
            stream.write(to_lines(assistant(2, "The relay listens on 2525.")))
    takings.taking_in.note(Note(SESSION, str(file)))

    wait_until(lambda: (SESSION, True) in takings.taken)
    assert takings.said() == ["Which port?", "The relay listens on 2525."]
    assert len(takings.compressed()) == 1


def test_whatever_is_new_in_all_folders_is_taken_in(takings: Takings) -> None:
    write_transcript(takings.transcripts, person(1, "first"))
    takings.taking_in.note_all()

    takings.taking_in.start()

    wait_until(lambda: takings.taken == [("", False)])
    assert takings.said() == ["first"]


def test_a_session_whose_client_is_gone_is_told_of_as_ended(takings: Takings) -> None:
    moment = dt.datetime.now(dt.UTC).isoformat()
    said = [item | {"timestamp": moment} for item in working_session()]
    write_transcript(takings.transcripts, *said)
    write_transcript(takings.transcripts, *working_session(session=OTHER_SESSION), session=OTHER_SESSION)  # long over
    marker = takings.transcripts.parents[1] / "sessions" / "1.json"
    marker.parent.mkdir()
    marker.write_text(json.dumps({"pid": NO_PROCESS, "sessionId": SESSION}), encoding="utf-8")
    takings.taking_in.note_all()

    takings.taking_in.start()

    wait_until(lambda: takings.taken == [("", False), (SESSION, True)])
    assert len(takings.compressed()) == 2


def test_a_setting_that_was_changed_counts_for_the_next_session(takings: Takings) -> None:
    first = write_transcript(takings.transcripts, person(1, "first"))
    takings.taking_in.start()
    takings.taking_in.note(Note(SESSION, str(first)))
    wait_until(lambda: takings.taken == [(SESSION, False)])

    change_setting(takings.environment.person_file, "ingest_deny", ("/srv/app",))
    second = write_transcript(takings.transcripts, person(11, "later", session=OTHER_SESSION), session=OTHER_SESSION)
    takings.taking_in.note(Note(OTHER_SESSION, str(second), has_ended=True))

    wait_until(lambda: takings.taken == [(SESSION, False), (OTHER_SESSION, True)])
    assert takings.said(OTHER_SESSION) == []


def test_a_file_outside_the_clients_folders_is_not_read(takings: Takings, tmp_path: Path) -> None:
    file = write_transcript(tmp_path / "elsewhere", person(1, "first"))
    takings.taking_in.note(Note(SESSION, str(file)))
    takings.taking_in.note_all()

    takings.taking_in.start()

    wait_until(lambda: takings.taken == [("", False)])
    assert takings.said() == []
