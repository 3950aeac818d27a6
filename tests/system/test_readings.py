"""The daemon has a model read a session that is over, and nobody waits for it; the assistant reads by page."""

import json
import os
import threading

import pytest

from tests.crawler.builders import OTHER_SESSION, SESSION, entry_id, person, working_session, write_transcript
from tests.crawler.model_service import as_openai, serving
from tests.crawler.reading.builders import answer, as_json, make_line
from tests.system.at_terminal import WORD, at_terminal
from tests.system.house import House, wait_until

DECIDED = "I decided to send a keepalive every 300 seconds instead of raising the timeout."
CAUSE = "The cause is the idle timeout of 3600 seconds in the proxy."
WRITTEN = "The relay loses its connection because of the idle timeout of 3600 seconds in the proxy."
ANSWER = as_json(answer(make_line(entry_id(2), CAUSE, WRITTEN, kind="lesson")))


def recalled(house: House, kind: str) -> str:
    answered = house.client.ask("POST", "/api/recall", {"query": "relay proxy keepalive timeout", "type": kind})
    return "\n".join(hit["passage"] for hit in answered["hits"])


def test_rules_answer_while_the_model_is_asked_and_its_line_comes_behind(house: House) -> None:
    write_transcript(house.folder / ".claude" / "projects" / "-srv-app", *working_session())
    let_go = threading.Event()
    with serving(as_openai(ANSWER), until=let_go) as service:
        house.command("ingest")  # compressed without the model
        house.settle(reader="openai-url", reader_url=f"{service.url}/v1", reader_model="small")

        house.serve()
        wait_until(lambda: bool(service.asked), 60)

        assert DECIDED in recalled(house, "decision")
        assert WRITTEN not in recalled(house, "lesson")
        let_go.set()
        wait_until(lambda: WRITTEN in recalled(house, "lesson"), 60)
        assert len(service.asked) == 1


def test_the_assistant_is_shown_the_sessions_of_the_project_that_it_works_in(house: House) -> None:
    transcripts, shop = house.folder / ".claude" / "projects", "The shop closes at nine."
    write_transcript(transcripts / "-srv-app", *working_session())
    sold = person(1, shop, session=OTHER_SESSION, cwd="/srv/shop")
    write_transcript(transcripts / "-srv-shop", sold, session=OTHER_SESSION)
    house.command("ingest")
    house.serve()

    own = house.relay(CLAUDE_CODE_SESSION_ID=SESSION).initialize().text("dream_evidence")
    unknown = house.relay().initialize().text("dream_evidence")

    assert own.startswith("Page 1 of app;") and "loses its connection" in own and shop not in own
    assert unknown.startswith("Whose sessions?") and unknown.endswith("These wait: app (1), shop (1).")


def test_a_session_that_has_just_begun_is_of_the_project_of_its_folder(house: House) -> None:
    here = [person(1, "The shop closes at nine.", cwd=str(house.folder))]
    write_transcript(house.folder / ".claude" / "projects" / "-here", *here)
    house.command("ingest")
    house.serve()

    shown = house.relay(CLAUDE_CODE_SESSION_ID=OTHER_SESSION).initialize().text("dream_evidence")

    assert shown.startswith(f"Page 1 of {house.folder.name};") and "The shop closes at nine." in shown


def fake_claude(house: House) -> dict[str, str]:
    """Variables with which a `claude` is found that answers as if there were nothing to keep."""
    folder = house.folder / "bin"
    folder.mkdir()
    envelope = json.dumps({"result": "[]", "usage": {"input_tokens": 9, "output_tokens": 1}})
    (folder / "claude").write_text(f"#!/bin/sh\ncat > /dev/null\necho '{envelope}'\n", encoding="utf-8")
    (folder / "claude").chmod(0o755)
    return {"PATH": f"{folder}:{house.variables.get('PATH', os.environ['PATH'])}"}


@pytest.mark.parametrize(
    ("answers", "reader"),
    [([(r"Have it read them \[y/N\]: ", "y\n"), WORD], "claude-cli"), ([(r"read them \[y/N\]: ", "n\n")], "rules")],
)
def test_the_first_dream_at_a_terminal_asks_once_whether_claude_may_read(
    house: House, answers: list[tuple[str, str]], reader: str
) -> None:
    write_transcript(house.folder / ".claude" / "projects" / "-srv-app", *working_session())
    house.command("ingest")
    variables = fake_claude(house)

    output = at_terminal(house, answers, "dream", variables=variables)
    again = at_terminal(house, [], "dream", variables=variables)

    assert not output.left, output.screen
    assert "Projects: app (1)" in output.screen and "100,000 tokens a day" in output.screen
    assert "Have it read them" not in again.screen
    assert house.command("config", "reader").stdout.strip() == reader


def test_without_a_terminal_nobody_is_asked_and_rules_read(house: House) -> None:
    write_transcript(house.folder / ".claude" / "projects" / "-srv-app", *working_session())
    house.command("ingest")

    house.command("dream")

    assert house.command("config", "reader").stdout.strip() == "rules"


def test_the_first_init_at_a_terminal_asks_too_though_nothing_is_archived_yet(house: House) -> None:
    write_transcript(house.folder / ".claude" / "projects" / "-srv-app", *working_session())
    answers = [WORD, (r"Have it read them \[y/N\]: ", "n\n")]

    output = at_terminal(house, answers, "init", "--model", "all-MiniLM-L6-v2", variables=fake_claude(house))

    assert not output.left and "What waits: 1 session, some 1,950 tokens" in output.screen, output.screen
    assert house.command("config", "reader").stdout.strip() == "rules"
