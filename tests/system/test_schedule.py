"""The daemon ingests what is new by the clock, and the command line goes on while it runs."""

import datetime as dt
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memory_server.errors import UsageError
from oneiros.daemon.schedule import JobState, read_states, schedule_file
from tests.crawler.builders import OTHER_SESSION, SESSION, assistant, person, working_session, write_transcript
from tests.system.house import House, wait_until

MISSED = "2026-01-01T04:00:00+00:00"


def projects(house: House) -> Path:
    return house.folder / ".claude" / "projects" / "-work-app"


def missed(house: House, *names: str) -> None:
    """As if no daemon had run for a long time."""
    states = [{"name": name, "since": MISSED, "done": MISSED} for name in names]
    file = house.root / ".oneiros" / "schedule.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(states), encoding="utf-8")


def jobs(house: House) -> dict[str, dict[str, Any]]:
    return {job["name"]: job for job in json.loads(house.command("status", "--json").stdout)["schedule"]}


def state_of(house: House, name: str) -> JobState:
    """What the daemon has noted of a job so far."""
    states = {state.name: state for state in read_states(schedule_file(house.memory_root))}
    return states.get(name, JobState(name))


def test_what_the_schedule_missed_is_taken_in_at_the_next_start_and_status_tells(house: House) -> None:
    write_transcript(projects(house), *working_session())
    missed(house, "ingest")

    house.serve()

    client = house.relay().initialize()
    wait_until(lambda: "after an hour" in client.text("recall", query="why does the relay lose its connection"))
    wait_until(lambda: state_of(house, "ingest").said != "")  # noted behind the work
    assert jobs(house)["ingest"]["said"] == "10 new entries in 1 session, 1 session compressed"
    assert "schedule  ingest  20" in house.command("status").stdout


def test_sessions_are_dreamt_of_by_the_clock_behind_the_ingest_and_the_next_session_start_tells(house: House) -> None:
    text = "From now on always use pnpm instead of npm in this repository."
    write_transcript(projects(house), person(1, text), assistant(2, "Noted."))
    missed(house, "dream", "ingest")

    house.serve()

    wait_until(lambda: state_of(house, "dream").said != "")
    assert state_of(house, "dream").said == "1 session read, 1 change proposed, 1 wait for review"
    answer = house.answer_of_hook("SessionStart", {"session_id": OTHER_SESSION, "source": "startup"})
    assert "1 proposal waits: oneiros review" in answer["systemMessage"]


def test_a_session_whose_end_a_hook_tells_is_taken_in_and_compressed_at_once(house: House) -> None:
    moment = dt.datetime.now(dt.UTC).isoformat()
    records = [item | {"timestamp": moment} for item in working_session()]
    write_transcript(projects(house), *records)
    house.serve()

    house.hook("SessionEnd", {"session_id": SESSION, "reason": "exit"})

    wait_until(lambda: len(list((house.root / "sessions" / "compressed").rglob("*.md"))) == 1)
    assert json.loads(house.command("archive", "verify", "--json").stdout) == {"sessions": 1, "problems": []}


def test_command_line_rest_and_assistant_recall_the_same_by_type(house: House) -> None:
    write_transcript(projects(house), *working_session())
    house.serve()
    house.command("ingest")
    question = {"query": "what keeps the relay's timeout away", "type": "decision", "project": "app"}

    printed = house.command("recall", question["query"], "--type", "decision", "--project", "app", "--json")
    answered = house.client.ask("POST", "/api/recall", question)["hits"]

    text = "I decided to send a keepalive every 300 seconds instead of raising the timeout."
    assert [text in hit["passage"] for hit in answered] == [True]
    assert [hit["id"] for hit in json.loads(printed.stdout)["hits"]] == [hit["id"] for hit in answered]
    assert text in house.relay().initialize().text("recall", **question)
    assert house.client.ask("GET", "/api/recall?query=relay&type=decision&project=shop")["hits"] == []
    with pytest.raises(UsageError, match="opinion"):
        house.client.ask("POST", "/api/recall", question | {"type": "opinion"})


def test_the_daemon_scans_references_by_the_clock(house: House) -> None:
    shop = house.folder / "shop"
    shop.mkdir()
    (shop / "README.md").write_text("# Shop\n\nThe till of the shop is a Zebra-77.\n", encoding="utf-8")
    house.settle(reference_roots=[str(shop)])
    missed(house, "references")

    house.serve()

    client = house.relay().initialize()
    wait_until(lambda: "README.md" in client.text("search_exact", query="Zebra-77"))
    wait_until(lambda: state_of(house, "references").said != "")
    assert state_of(house, "references").said.startswith("1 file read")


def test_a_schedule_that_is_switched_off_takes_nothing_in(house: House) -> None:
    write_transcript(projects(house), *working_session())
    house.settle(daily_at="", dream_at="", reference_minutes=0)
    missed(house, "ingest", "dream")

    house.serve()

    wait_until(lambda: state_of(house, "references").since != "")
    assert jobs(house)["ingest"]["done"] == jobs(house)["dream"]["done"] == MISSED
    assert "switched off" in house.command("status").stdout


def test_an_ingest_beside_a_running_daemon_is_found_by_it(house: House) -> None:
    house.serve()
    write_transcript(projects(house), *working_session())

    house.command("ingest")

    assert "keepalive" in house.relay().initialize().text("search_exact", query="keepalive", include_raw=True)


def test_following_takes_in_what_is_written_and_ends_by_an_interruption(house: House) -> None:
    write_transcript(projects(house), *working_session())
    command = [sys.executable, "-c", "from oneiros.cli.main import run; run()", "ingest", "--follow", "--json"]
    with subprocess.Popen(command, env=dict(house.variables), stdout=subprocess.PIPE, text=True) as process:
        overdue = threading.Timer(100, process.kill)
        overdue.start()
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        records = [person(21, "The printer jams.", session=OTHER_SESSION), assistant(22, "It is worn out.")]
        write_transcript(projects(house), *records, session=OTHER_SESSION)

        second = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)

        assert (first["sessions"], second["sessions"], second["entries"]) == ([SESSION], [OTHER_SESSION], 2)
        assert process.wait(timeout=60) == 130
        overdue.cancel()
