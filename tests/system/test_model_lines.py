"""The daemon has a model type a session that is over, and nobody waits for it."""

import json
import threading

from tests.crawler.builders import working_session, write_transcript
from tests.crawler.model_service import as_openai, serving
from tests.system.house import House, wait_until

DECIDED = "I decided to send a keepalive every 300 seconds instead of raising the timeout."
WRITTEN = "An idle proxy cuts the relay off."
ITEM = {"type": "lesson", "text": WRITTEN, "why": "names a cause", "entries": ["00000002"]}


def recalled(house: House, kind: str) -> str:
    answer = house.client.ask("POST", "/api/recall", {"query": "relay proxy keepalive timeout", "type": kind})
    return "\n".join(hit["passage"] for hit in answer["hits"])


def test_rules_answer_while_the_model_is_asked_and_its_line_comes_behind(house: House) -> None:
    write_transcript(house.folder / ".claude" / "projects" / "-work-app", *working_session())
    let_go = threading.Event()
    with serving(as_openai(json.dumps([ITEM])), until=let_go) as service:
        settings = {"compressor_url": f"{service.url}/v1", "compressor_model": "small", "recorder": "model"}
        house.command("ingest")  # compressed without the model
        house.settle(**settings, compressor="openai-url")

        house.serve()
        wait_until(lambda: bool(service.asked), 60)

        assert DECIDED in recalled(house, "decision")
        assert WRITTEN not in recalled(house, "lesson")
        let_go.set()
        wait_until(lambda: WRITTEN in recalled(house, "lesson"), 60)
        assert len(service.asked) == 1
