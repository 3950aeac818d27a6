"""The REST routes under requests made from their own description: never a server error, never an open door."""

from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.core.result import Ok

from oneiros.light.endpoint import daemon_state, read_token
from tests.system.house import House, wait_until

HARMLESS_ERRORS = {400, 401, 403, 404, 405, 409, 413, 415, 421, 422}
BUSY = 503  # the index is being written: an episode just taken in, say


def test_no_request_that_the_description_allows_breaks_the_daemon(served: House) -> None:
    base = f"http://127.0.0.1:{daemon_state(served.state)['port']}"
    headers = {"Authorization": f"Bearer {read_token(served.state)}"}
    described = requests.get(f"{base}/openapi.json", headers=headers, timeout=30).json()
    aliases = ("/api/episodes/reembed", "/api/embedding/model")
    for path in ("/api/stop", "/api/restart", "/api/reindex", "/api/model", *aliases):
        del described["paths"][path]  # they end or occupy the daemon that is under test
    schema = schemathesis.openapi.from_dict(described)
    broken = []

    for result in schema.get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()

        @given(case=operation.as_strategy())
        @settings(
            max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=True
        )
        def attack(case: schemathesis.Case[Any]) -> None:
            answer = case.call(base_url=base, headers=headers, timeout=60)
            is_told = answer.status_code < 400 or "remedy" in answer.json().get("error", {})
            if not is_told or answer.status_code not in {*range(200, 300), *HARMLESS_ERRORS, BUSY}:
                broken.append((case.method, case.path, answer.status_code, answer.text[:200]))
            bare = case.call(base_url=base, headers={"Authorization": "Bearer nobody"}, timeout=60)
            if bare.status_code < 400:
                broken.append((case.method, case.path, bare.status_code, "let in without a token"))

        attack()

    assert broken == []
    wait_until(lambda: served.client.ask("GET", "/health")["status"] == "ok")  # once what was taken in is indexed
