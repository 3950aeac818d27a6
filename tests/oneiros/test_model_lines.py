"""A model goes over sessions that are over, behind the rules, by a real service's protocol."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.archive.store import Archive
from memory_server.errors import UsageError
from memory_server.index.typed_lines import TypedLines
from memory_server.root.paths import MemoryRoot
from memory_server.settings_file import change_setting
from oneiros.environment import Environment
from oneiros.ingest.model_lines import ModelLines, asking_of
from oneiros.ingest.run import Wanted, run_ingest
from oneiros.ingest.settings import archive_folder
from oneiros.ingest.typed_lines import Recorder
from tests.crawler.builders import (
    OTHER_SESSION,
    SESSION,
    Record,
    assistant,
    entry_id,
    person,
    working_session,
    write_transcript,
)
from tests.crawler.model_service import Service, as_openai, serving
from tests.memories import NOON, new_root
from tests.system.house import wait_until

GOOD = [
    {"type": "lesson", "text": "An idle proxy cuts the relay off.", "why": "names a cause", "entries": ["00000002"]},
]


class House:
    """A memory whose one session is over, its rules lines, and the thread that asks a model."""

    def __init__(self, home: Path):
        self.environment = Environment({}, home, home)
        self.root: MemoryRoot = new_root(home / "memory")
        self.transcripts = home / ".claude" / "projects" / "-srv-app"
        self.digest = TypedLines(self.root.derived / "digest.db")
        archive = Archive(archive_folder(self.root))
        self.recorder = Recorder(
            self.root, archive, self.digest, keeps_models=lambda: replace(self.environment).person.recorder == "model"
        )
        self.models = ModelLines(archive, self.digest, lambda pause: asking_of(self.environment, self.root, pause))

    def set(self, **settings: object) -> None:
        for key, value in settings.items():
            change_setting(self.environment.person_file, key, value)

    def ask(self, service: Service) -> None:
        """Sets the service as the model."""
        self.set(recorder="model", compressor="openai-url", compressor_url=f"{service.url}/v1", compressor_model="m")

    def ingest(self, session: str = SESSION, more: Sequence[Record] = ()) -> None:
        write_transcript(self.transcripts, *working_session(session=session), *more, session=session)
        run_ingest(replace(self.environment), self.root, Wanted(), NOON)
        self.recorder.bring_level()

    def texts(self) -> list[str]:
        return [line.text for line in self.digest.of_session(SESSION)]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.models.worker.close()
    made.digest.close()


def test_by_default_no_model_is_asked(house: House) -> None:
    with serving(as_openai(json.dumps(GOOD))) as service:
        house.set(compressor_url=f"{service.url}/v1")
        house.ingest()

        assert house.models.run_once() == 0

    assert service.asked == [] and house.texts()


def test_a_session_is_asked_about_once_and_its_lines_stay_while_the_setting_does(house: House) -> None:
    house.ingest()
    plain = house.texts()

    with serving(as_openai(json.dumps(GOOD))) as service:
        house.ask(service)
        assert (house.models.run_once(), house.models.run_once(), house.recorder.bring_level()) == (1, 0, 0)

    assert "An idle proxy cuts the relay off." in house.texts()
    assert house.digest.find(["idle"], ["lesson"], ["app"], 5)[0].why == "a model: names a cause"
    house.set(recorder="deterministic")
    assert house.recorder.bring_level() == 1
    assert house.texts() == plain


def test_a_service_that_refuses_leaves_the_rules_lines_and_the_next_session_gets_its_turn(house: House) -> None:
    house.ingest()
    house.ingest(OTHER_SESSION)
    plain = house.texts()

    with serving((400, {"error": "no"}), as_openai(json.dumps(GOOD))) as service:
        house.ask(service)
        assert house.models.run_once() == 0
        assert house.texts() == plain
        assert house.models.run_once() == 2


def test_after_each_turn_of_a_session_that_goes_on_its_new_words_alone_are_asked_about(house: House) -> None:
    house.set(idle_hours=1e6)
    house.ingest()
    told = {"type": "fact", "text": "It waits for 300 s.", "why": "asked", "entries": [entry_id(22)[:8]]}

    with serving(as_openai(json.dumps(GOOD)), as_openai(json.dumps([told]))) as service:
        house.ask(service)
        assert (house.models.run_once(), house.models.run_once()) == (1, 0)
        asked = person(21, "How long does the relay wait?")
        house.ingest(more=[asked])
        assert house.models.run_once() == 0  # the assistant has not answered yet
        house.ingest(more=[asked, assistant(22, {"type": "text", "text": "It waits 300 s."})])
        assert (house.models.run_once(), house.models.run_once()) == (1, 0)

    first, second = (json.dumps(asked) for asked in service.asked)
    assert "00000002" in first and entry_id(21)[:8] in second and "00000002" not in second
    assert "at most 3 lines" in second.lower()
    assert {"An idle proxy cuts the relay off.", "It waits for 300 s."} <= set(house.texts())


def test_the_thread_outlives_settings_that_name_no_model_and_records_when_poked(house: House) -> None:
    house.ingest()
    house.set(recorder="model")
    with pytest.raises(UsageError):
        house.models.run_once()
    house.models.worker.start()
    house.models.worker.poke()

    with serving(as_openai(json.dumps(GOOD))) as service:
        house.ask(service)
        house.models.worker.poke()
        wait_until(lambda: "An idle proxy cuts the relay off." in house.texts(), 60)
