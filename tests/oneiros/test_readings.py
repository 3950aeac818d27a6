"""A model reads the sessions that are over, as far as the person's settings let it, by a real service's protocol."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler.ingest import forget
from crawler.model.budget import Budget, Price
from crawler.model.client import Completion, LimitReached, PaidModel, Prompt
from crawler.reading.model import INSTRUCTIONS
from crawler.reading.record import Reading
from memory_server.index.typed_lines import TypedLines
from memory_server.layers.sessions import newest_files, read_session
from memory_server.settings_file import change_setting
from oneiros.environment import Environment, now
from oneiros.ingest.readings import (
    Asking,
    ModelReadings,
    ReadingRun,
    build_asking,
    compress_again,
    find_model,
    model_costs,
    open_readings,
    reading_states,
    waiting_records,
)
from oneiros.ingest.run import Wanted, run_ingest
from oneiros.ingest.settings import ingest_settings, open_archive
from oneiros.ingest.typed_lines import Recorder
from tests.crawler.builders import OTHER_SESSION, SESSION, Record, assistant, person, write_transcript
from tests.crawler.model_service import Service, as_openai, serving
from tests.crawler.reading.builders import RULE, answer, as_json, make_line
from tests.memories import new_root, write_topic
from tests.system.house import wait_until

THIRD = "33333333-3333-4333-8333-333333333333"
LATER = now() + timedelta(days=1_000)


class House:
    """A memory whose sessions are over, and what asks a model about them."""

    def __init__(self, home: Path):
        self.environment = Environment({}, home, home)
        self.root = new_root(home / "memory")
        self.transcripts = home / ".claude" / "projects"
        self.archive = open_archive(self.root)
        self.readings = open_readings(self.root)
        self.told = 0
        self.models = ModelReadings(
            self.root, lambda pause: build_asking(self.environment, self.root, pause), self._note
        )

    def _note(self) -> None:
        self.told += 1

    def set(self, **settings: object) -> None:
        for key, value in settings.items():
            change_setting(self.environment.person_file, key, value)

    def ask(self, service: Service) -> None:
        """Sets the service as the reader."""
        self.set(reader="openai-url", reader_url=f"{service.url}/v1", reader_model="m")

    def take(self, session: str = SESSION, folder: str = "/srv/app", day: int = 1, more: Sequence[Record] = ()) -> None:
        """Takes a session in, in which the person gives a rule."""
        same: dict[str, Any] = {"session": session, "cwd": folder, "timestamp": f"2026-03-{day:02d}T10:00:00Z"}
        records = [person(1, f"Mend it. {RULE}", **same), assistant(2, "It is mended.", **same), *more]
        write_transcript(self.transcripts / folder.replace("/", "-"), *records, session=session)
        run_ingest(replace(self.environment), self.root, Wanted(), LATER)

    def waiting(self, first: str = "", is_over: Callable[[str], bool] = lambda _: True) -> list[str]:
        person = replace(self.environment).person
        return [one.session_id for one in waiting_records(self.archive, self.readings, person, is_over, first)]

    def read_by_model(self) -> dict[str, int]:
        """The sessions that a model has read, each with its lines."""
        return {one.session_id: len(one.lines) for one in self.readings.every() if one.is_by_model}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.models.worker.close()


def answer_for(*sessions: str) -> tuple[int, Any]:
    """What the service answers: of each session its rule."""
    return as_openai(as_json(*(answer(make_line("00000001", RULE), session=session) for session in sessions)))


def list_pages(service: Service) -> list[str]:
    """What was shown of sessions, a call each."""
    return [call["messages"][1]["content"] for call in service.asked]


def test_no_more_is_asked_when_the_time_is_over_and_the_next_run_reads_on(house: House) -> None:
    with serving(answer_for(SESSION)) as service:
        house.ask(service)
        house.take()
        late = build_asking(house.environment, house.root, lambda _: None, lambda: True)
        assert late is not None
        report = ReadingRun(house.root, late).run()

        assert (report.read, report.left, report.stopped, service.asked) == (0, 1, "the time is over", [])
        assert house.models.run_once().read == 1


def test_by_default_no_model_is_asked(house: House) -> None:
    with serving(answer_for(SESSION)) as service:
        house.set(reader_url=f"{service.url}/v1")
        house.take()

        assert house.models.run_once().read == 0

    assert (service.asked, house.told, house.read_by_model()) == ([], 0, {})
    assert house.readings.load(SESSION) is not None  # by rules


def test_a_session_is_read_once_and_its_digest_and_lines_follow(house: House) -> None:
    house.take()
    typed_lines = TypedLines(house.root.derived_folder / "sessions.db")
    recorder = Recorder(house.root, house.archive, typed_lines)
    recorder.bring_level()

    with serving(answer_for(SESSION)) as service:
        house.ask(service)
        reports = [house.models.run_once() for _ in range(2)]

    assert [(report.read, report.left, report.stopped) for report in reports] == [(1, 0, ""), (0, 0, "")]
    assert (len(service.asked), house.told, reports[0].tokens) == (1, 1, 1_100)
    compress_again(house.environment, house.root)
    assert read_session(newest_files(house.root.sessions)[SESSION]).compressor == "openai-url"
    assert (recorder.bring_level(), recorder.bring_level()) == (1, 0)
    assert "openai-url: rule" in [line.why for line in typed_lines.of_session(SESSION)]
    typed_lines.close()


def test_the_named_project_comes_first_then_those_last_used_and_of_each_the_newest(house: House) -> None:
    house.take(SESSION, "/srv/app", 1)
    house.take(OTHER_SESSION, "/srv/shop", 2)
    house.take(THIRD, "/srv/app", 3)

    assert house.waiting() == [THIRD, SESSION, OTHER_SESSION]
    assert house.waiting("shop") == [OTHER_SESSION, THIRD, SESSION]
    assert house.waiting(is_over=lambda session_id: session_id == SESSION) == [SESSION]


def test_sessions_of_one_project_are_sent_together_and_those_of_two_apart(house: House) -> None:
    house.take(SESSION, "/srv/app", 1)
    house.take(OTHER_SESSION, "/srv/shop", 2)
    house.take(THIRD, "/srv/app", 3)

    with serving(answer_for(THIRD, SESSION), answer_for(OTHER_SESSION)) as service:
        house.ask(service)
        assert house.models.run_once().read == 3

    first, second = list_pages(service)
    assert first.index("session 33333333") < first.index("session 11111111")
    assert "session 22222222" in second and "project shop" not in first


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, [OTHER_SESSION, SESSION]),
        ({"muted_projects": ("shop",)}, [SESSION]),
        ({"muted_projects": ("sh*",)}, [SESSION]),
        ({"muted_projects": ("main",)}, [SESSION]),
        ({"ingest_deny": ("/srv/shop",)}, [SESSION]),
        ({"ingest_deny": ("/srv",)}, []),
        ({"reader_projects": ("shop",)}, [OTHER_SESSION]),
        ({"reader_projects": ("/srv/sh*",)}, [OTHER_SESSION]),
        ({"reader_projects": ("garden",)}, []),
        ({"reader_projects": ("shop", "app"), "muted_projects": ("app",)}, [OTHER_SESSION]),
    ],
)
def test_what_is_muted_denied_or_not_named_is_never_sent(
    house: House, settings: dict[str, tuple[str, ...]], sent: list[str]
) -> None:
    house.take(SESSION, "/srv/app", 1)
    house.take(OTHER_SESSION, "/srv/shop/main", 2)
    house.set(**settings)

    with serving(answer_for(SESSION, OTHER_SESSION)) as service:
        house.ask(service)
        house.models.run_once()

    shown = "\n".join(list_pages(service))
    assert [session for session in (OTHER_SESSION, SESSION) if f"session {session[:8]}" in shown] == sent
    assert sorted(house.read_by_model()) == sorted(sent)


def test_a_session_that_goes_on_is_not_sent(house: House) -> None:
    house.set(idle_hours=1e6)
    house.take()

    with serving(answer_for(SESSION)) as service:
        house.ask(service)
        assert house.models.run_once().read == 0

    assert service.asked == []


def test_a_session_that_grew_is_read_again_and_another_prompt_asks_nothing_again(house: House) -> None:
    house.take()
    with serving(answer_for(SESSION)) as service:
        house.ask(service)
        house.models.run_once()
        reading = house.readings.load(SESSION)
        assert reading is not None
        house.readings.save(msgspec.structs.replace(reading, version=reading.version + 7))
        assert (house.waiting(), house.models.run_once().read) == ([], 0)

        house.take(more=[person(3, "And the docs.", cwd="/srv/app", timestamp="2026-03-01T11:00:00Z")])

        assert (house.waiting(), house.models.run_once().read) == ([SESSION], 1)
    assert "And the docs." in list_pages(service)[-1] and len(service.asked) == 2


def test_what_rules_read_of_a_session_that_grew_is_what_a_digest_is_made_of(house: House) -> None:
    house.take()
    with serving(answer_for(SESSION)) as service:
        house.ask(service)
        house.models.run_once()
    house.set(reader="rules")

    house.take(more=[person(3, "And the docs.", cwd="/srv/app", timestamp="2026-03-01T11:00:00Z")])

    reading = house.readings.load(SESSION)
    assert reading is not None and (reading.is_by_model, reading.mark) == (False, house.archive.hash_session(SESSION))


def test_the_tokens_of_a_day_stop_it_until_the_next(house: House) -> None:
    house.take(SESSION, "/srv/app", 1)
    house.take(OTHER_SESSION, "/srv/shop", 2)
    house.set(reader_tokens_day=int(len(INSTRUCTIONS) / 3.5) + 900)

    with serving(answer_for(OTHER_SESSION), answer_for(SESSION)) as service:
        house.ask(service)
        report = house.models.run_once()
        again = house.models.run_once()

    assert (report.read, report.left, len(service.asked)) == (1, 1, 1)
    assert "tokens a day is spent" in report.stopped and "tokens a day is spent" in again.stopped
    states = reading_states(replace(house.environment), house.root, now())
    assert (states["by_model"], states["by_rules"], states["waiting"], states["tokens_today"]) == (1, 1, 1, 1_100)


def test_a_service_that_refuses_leaves_what_rules_read_and_is_asked_again_later(house: House) -> None:
    house.take()
    plain = house.readings.load(SESSION)

    with serving((400, {"error": "no"}), answer_for(SESSION)) as service:
        house.ask(service)
        report = house.models.run_once()
        assert (report.read, report.left, bool(report.stopped), house.told) == (0, 1, True, 0)
        assert house.readings.load(SESSION) == plain
        assert house.models.run_once().read == 1


def test_a_run_reads_no_more_than_it_is_asked_for(house: House) -> None:
    house.take(SESSION, "/srv/app", 1)
    house.take(THIRD, "/srv/app", 3)

    with serving(answer_for(THIRD, SESSION)) as service:
        house.ask(service)
        asking = build_asking(house.environment, house.root, lambda _: None)
        assert asking is not None
        report = ReadingRun(house.root, asking).run(1)

    assert (report.read, report.left, list(house.read_by_model())) == (1, 1, [THIRD])
    assert "session 11111111" not in list_pages(service)[0]


def test_a_run_for_one_project_reads_no_other(house: House) -> None:
    house.take(SESSION, "/srv/app", 1)
    house.take(OTHER_SESSION, "/srv/shop", 2)

    with serving(answer_for(SESSION)) as service:
        house.ask(service)
        asking = build_asking(house.environment, house.root, lambda _: None)
        assert asking is not None
        report = ReadingRun(house.root, asking).run(project="App", is_alone=True)

    assert (report.read, report.left, list(house.read_by_model())) == (1, 0, [SESSION])


def test_the_topics_of_the_project_and_of_the_person_are_named_and_no_others(house: House) -> None:
    house.take()
    write_topic(
        house.root, "app/mail", "# Mail\n\n## Ports\n\nThe relay listens on port 2525.\n", title="Mail", project="app"
    )
    write_topic(house.root, "habits", "# Habits\n\n## Notes\n\nNotes are short.\n", title="Habits")
    write_topic(house.root, "shop/prices", "# Prices\n\n## Net\n\nPrices are net.\n", title="Prices", project="shop")

    with serving(answer_for(SESSION)) as service:
        house.ask(service)
        house.models.run_once()

    known = list_pages(service)[0].partition("===")[0]
    assert "app/mail: Ports" in known and "habits: Notes" in known and "prices" not in known
    assert "2525" not in known


class Meanwhile:
    """A client during whose call something else happens."""

    name = "scripted"

    def __init__(self, happens: Callable[[], object], text: str):
        self._happens = happens
        self._text = text
        self.price = Price()

    def complete(self, prompt: Prompt) -> Completion:
        self._happens()
        return Completion(self._text)


def run_with(house: House, client: Meanwhile) -> ReadingRun:
    budget = Budget(house.root.spent, today=date(2026, 3, 1), run_usd=1, day_usd=1)
    model = PaidModel(client, budget, pause=lambda _: None)
    return ReadingRun(house.root, Asking(model, lambda _: True, replace(house.environment).person))


def forget_in(house: House, session: str = SESSION) -> None:
    forget([session], ingest_settings(house.environment, house.root), house.root.sessions)


def test_forgetting_a_session_removes_what_was_read_of_it(house: House) -> None:
    house.take()
    run_with(house, Meanwhile(lambda: None, as_json(answer(make_line("00000001", RULE))))).run()
    assert house.read_by_model() == {SESSION: 1}

    forget_in(house)

    assert house.readings.load(SESSION) is None
    assert [path for path in house.root.path.rglob("*") if path.is_file() and b"linter" in path.read_bytes()] == []


def test_the_answer_about_a_session_that_was_forgotten_meanwhile_is_dropped(house: House) -> None:
    house.take()
    text = as_json(answer(make_line("00000001", RULE)))

    report = run_with(house, Meanwhile(lambda: forget_in(house), text)).run()

    assert (report.read, house.readings.load(SESSION)) == (0, None)


def test_a_run_that_is_ended_drops_the_answer_that_it_waited_for(house: House) -> None:
    house.take()
    ended: list[bool] = []
    run = run_with(house, Meanwhile(lambda: ended.append(True), as_json(answer())))
    run.is_ended = lambda: bool(ended)

    assert (run.run().read, house.read_by_model()) == (0, {})


def test_a_limit_that_is_met_says_so_in_the_report_and_in_the_states(house: House) -> None:
    house.take()

    def limit() -> None:
        raise LimitReached("the usage limit is met")

    report = run_with(house, Meanwhile(limit, "")).run()

    assert (report.read, report.stopped) == (0, "the usage limit is met")


def test_what_readings_would_take_is_told_without_asking_anybody(house: House) -> None:
    house.take(SESSION, "/srv/app", 1)
    house.take(OTHER_SESSION, "/srv/shop", 2)

    cost = model_costs(replace(house.environment), house.root)

    assert (cost.sessions, cost.calls) == (2, 1)
    assert 1_000 < cost.tokens < 10_000


def test_the_states_tell_of_rules_alone_what_they_read(house: House) -> None:
    house.take()

    assert reading_states(replace(house.environment), house.root, now()) == {
        "reader": "rules",
        "by_model": 0,
        "by_rules": 1,
        "waiting": 0,
        "tokens_today": 0,
        "tokens_a_day": 100_000,
        "usd_today": 0.0,
        "stopped": "",
    }


def test_a_damaged_archive_of_one_session_keeps_no_other_from_being_read(house: House) -> None:
    house.take(SESSION, "/srv/app", 1)
    house.take(THIRD, "/srv/app", 3)
    for file in house.archive.folder.rglob(f"{THIRD}*"):
        for part in [file] if file.is_file() else [one for one in file.rglob("*") if one.is_file()]:
            if part.suffix != ".json":
                part.write_bytes(b"damaged")

    report = run_with(house, Meanwhile(lambda: None, as_json(answer()))).run()

    assert (report.read, list(house.read_by_model())) == (1, [SESSION])


def test_the_thread_outlives_a_service_that_is_not_there_and_reads_when_poked(house: House) -> None:
    house.take()
    house.set(reader="openai-url", reader_url="nowhere")
    house.models.worker.start()
    house.models.worker.poke()

    with serving(answer_for(SESSION)) as service:
        house.ask(service)
        house.models.worker.poke()
        wait_until(lambda: bool(house.read_by_model()), 60)

    assert list(house.read_by_model()) == [SESSION]


def test_a_reading_on_disk_is_one_object_of_json(house: House) -> None:
    house.take()

    [file] = (house.root.path / "sessions" / "readings").glob("*.json")

    assert msgspec.convert(json.loads(file.read_text(encoding="utf-8")), Reading) == house.readings.load(SESSION)


def test_what_could_read_here_is_found_by_its_program_or_by_key_and_price(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    key = {"reader_model": "m-1", "reader_key_variable": "MY_KEY", "reader_usd_in": 1.0}
    variables = {"PATH": str(bin_folder), "MY_KEY": "x"}

    def found(**settings: object) -> dict[str, str] | None:
        environment = Environment(variables, tmp_path, tmp_path)
        environment.person_file.parent.mkdir(parents=True, exist_ok=True)
        for name, value in settings.items():
            change_setting(environment.person_file, name, value)
        model = find_model(replace(environment))
        return dict(model.settings) if model else None

    def install(name: str, script: str) -> None:
        (bin_folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (bin_folder / name).chmod(0o755)

    assert found() is None
    assert found(**key) is None, "a key without a price knows no limit"
    assert found(reader_usd_out=5.0) == {"reader": "anthropic"}
    install("ollama", "echo 'NAME ID SIZE'")
    assert found() == {"reader": "anthropic"}, "an ollama without models reads nothing"
    install("ollama", "echo 'NAME ID SIZE'; echo 'qwen3:8b abc 5 GB'")
    assert found() == {"reader": "openai-url", "reader_url": "ollama", "reader_model": "qwen3:8b"}
    install("claude", "exit 0")
    assert found() == {"reader": "claude-cli"}
