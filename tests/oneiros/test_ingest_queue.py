"""Sessions are ingested behind the hooks, whatever the client has written down by then."""

import datetime as dt
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.archive.store import Archive
from memory_server.root.paths import MemoryRoot
from memory_server.settings_file import change_setting
from oneiros.environment import Environment, now
from oneiros.ingest.queue import IngestQueue, Note
from oneiros.ingest.settings import archive_folder, waiting
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


class Ingesting:
    """A memory whose sessions are ingested, and what came of it."""

    def __init__(self, home: Path):
        self.root: MemoryRoot = new_root(home / "memory")
        self.transcripts = home / ".claude" / "projects" / "-srv-app"
        self.taken: list[tuple[str, bool]] = []
        self.environment = Environment({}, home, home)
        self.queue = IngestQueue(self.environment, self.root, lambda *told: self.taken.append(told))

    def said(self, session_id: str = SESSION) -> list[str]:
        return [turn.text for turn in Archive(archive_folder(self.root)).turns(session_id)]

    def compressed(self) -> list[Path]:
        return list(self.root.sessions.rglob("*.md"))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Ingesting]:
    made = Ingesting(tmp_path)
    yield made
    made.queue.worker.close()


def test_a_prompt_that_is_written_behind_its_hook_and_after_an_older_reply_is_ingested(house: Ingesting) -> None:
    file = write_transcript(house.transcripts, person(1, "first"), assistant(2, "one"))
    house.queue.worker.start()
    house.queue.note(Note(SESSION, str(file)))
    wait_until(lambda: house.taken == [(SESSION, False)])

    with file.open("ab") as stream:
        stream.write(to_lines(person(3, "second")))

    wait_until(lambda: house.taken == [(SESSION, False)] * 2)
    assert house.said() == ["first", "one", "second"]


def test_a_transcript_that_is_not_there_yet_keeps_no_other_session_waiting(house: Ingesting) -> None:
    late = house.transcripts / f"{OTHER_SESSION}.jsonl"
    file = write_transcript(house.transcripts, person(1, "first"))
    house.queue.note(Note(OTHER_SESSION, str(late)))
    house.queue.note(Note(SESSION, str(file)))

    house.queue.worker.start()
    wait_until(lambda: house.taken == [(SESSION, False)])
    write_transcript(house.transcripts, person(11, "later", session=OTHER_SESSION), session=OTHER_SESSION)

    wait_until(lambda: house.taken == [(SESSION, False), (OTHER_SESSION, False)])
    assert house.said(OTHER_SESSION) == ["later"]


def test_a_session_that_ended_is_compressed_although_it_was_noted_again(house: Ingesting) -> None:
    file = write_transcript(house.transcripts, person(1, "Which port?"), assistant(2, "The relay listens on 2525."))
    house.queue.note(Note(SESSION, str(file), has_ended=True))
    house.queue.note(Note(SESSION, str(file)))

    house.queue.worker.start()

    wait_until(lambda: house.taken == [(SESSION, True)])
    assert len(house.compressed()) == 1


def test_a_session_that_said_it_ended_is_compressed_once_its_client_is_gone(house: Ingesting) -> None:
    file = write_transcript(house.transcripts, person(1, "Which port?"))
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as client:
        house.queue.note(Note(SESSION, str(file), has_ended=True, client_pid=client.pid))
        house.queue.worker.start()
        wait_until(lambda: house.taken == [(SESSION, False)])
        with file.open("ab") as stream:
            stream.write(to_lines(assistant(2, "The relay listens on 2525.")))
    house.queue.note(Note(SESSION, str(file)))

    wait_until(lambda: (SESSION, True) in house.taken)
    assert house.said() == ["Which port?", "The relay listens on 2525."]
    assert len(house.compressed()) == 1


def test_whatever_is_new_in_all_folders_is_ingested(house: Ingesting) -> None:
    write_transcript(house.transcripts, person(1, "first"))
    house.queue.note_all()

    house.queue.worker.start()

    wait_until(lambda: house.taken == [("", False)])
    assert house.said() == ["first"]


def test_a_session_whose_client_is_gone_is_told_of_as_ended(house: Ingesting) -> None:
    moment = dt.datetime.now(dt.UTC).isoformat()
    records = [item | {"timestamp": moment} for item in working_session()]
    write_transcript(house.transcripts, *records)
    write_transcript(house.transcripts, *working_session(session=OTHER_SESSION), session=OTHER_SESSION)  # long over
    marker = house.transcripts.parents[1] / "sessions" / "1.json"
    marker.parent.mkdir()
    marker.write_text(json.dumps({"pid": NO_PROCESS, "sessionId": SESSION}), encoding="utf-8")
    house.queue.note_all()

    house.queue.worker.start()

    wait_until(lambda: house.taken == [("", False), (SESSION, True)])
    assert len(house.compressed()) == 2


def test_a_setting_that_was_changed_counts_for_the_next_session(house: Ingesting) -> None:
    first = write_transcript(house.transcripts, person(1, "first"))
    house.queue.worker.start()
    house.queue.note(Note(SESSION, str(first)))
    wait_until(lambda: house.taken == [(SESSION, False)])

    change_setting(house.environment.person_file, "ingest_deny", ("/srv/app",))
    second = write_transcript(house.transcripts, person(11, "later", session=OTHER_SESSION), session=OTHER_SESSION)
    house.queue.note(Note(OTHER_SESSION, str(second), has_ended=True))

    wait_until(lambda: house.taken == [(SESSION, False), (OTHER_SESSION, True)])
    assert house.said(OTHER_SESSION) == []


def test_a_project_that_lies_behind_a_link_is_read_by_its_real_path(house: Ingesting, tmp_path: Path) -> None:
    real = write_transcript(tmp_path / "disk", person(1, "first"))
    house.transcripts.parent.mkdir(parents=True)
    house.transcripts.symlink_to(tmp_path / "disk")
    house.queue.note(Note(SESSION, str(house.transcripts / real.name)))
    house.queue.worker.start()

    wait_until(lambda: house.taken == [(SESSION, False)])

    assert house.said() == ["first"] and waiting(house.environment, house.root, now()).not_archived == 0


def test_a_transcript_is_read_by_the_name_that_its_folder_has_in_the_settings(house: Ingesting, tmp_path: Path) -> None:
    house.transcripts.parent.parent.mkdir(parents=True, exist_ok=True)
    house.transcripts.parent.symlink_to(tmp_path / "disk")
    real = write_transcript(tmp_path / "disk" / house.transcripts.name, person(1, "first"))
    house.queue.note(Note(SESSION, str(real)))
    house.queue.worker.start()

    wait_until(lambda: house.taken == [(SESSION, False)])

    assert house.said() == ["first"] and waiting(house.environment, house.root, now()).not_archived == 0


def test_a_file_outside_the_clients_folders_is_not_read(house: Ingesting, tmp_path: Path) -> None:
    file = write_transcript(tmp_path / "elsewhere", person(1, "first"))
    house.queue.note(Note(SESSION, str(file)))
    house.queue.note_all()

    house.queue.worker.start()

    wait_until(lambda: house.taken == [("", False)])
    assert house.said() == []
