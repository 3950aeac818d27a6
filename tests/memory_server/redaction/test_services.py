import pytest

from benchmarks.intake import shows
from benchmarks.redaction import is_held_service, make_example
from memory_server.redaction import Redactor
from memory_server.redaction.services import ServiceToken, shapes, table

ROWS = table()
ALSO_NAMED = {"new": "newrelic", "1password": "1password"}  # services whose kind begins with another word


@pytest.mark.parametrize("row", ROWS, ids=[row.kind for row in ROWS])
def test_the_example_of_a_row_is_masked_whole_and_called_by_its_kind(row: ServiceToken) -> None:
    for seed in range(3):
        token = make_example(row.example, seed)
        text = f"use {token} here"

        assert not shows(Redactor().redact(text).text, token)
        assert [(span.start, span.end, span.kind) for span in shapes().find(text.encode())] == [
            (4, 4 + len(token), row.kind)
        ]


@pytest.mark.parametrize("row", ROWS, ids=[row.kind for row in ROWS])
def test_the_counter_example_of_a_row_stays(row: ServiceToken) -> None:
    text = f"use {row.counter_example} here"

    assert Redactor().redact(text).text == text


def test_every_row_names_a_page() -> None:
    assert [row.kind for row in ROWS if not row.source.startswith("https://")] == []


def test_no_row_is_of_a_service_that_is_held_back() -> None:
    """What the benchmark says of services without a rule of their own would be untrue."""
    services = {row.kind: ALSO_NAMED.get(row.kind.split("-")[0], row.kind.split("-")[0]) for row in ROWS}
    no_service = {"jwt", "webhook", "openssh-key", "private-key", "configcat-key"}

    assert [kind for kind, service in services.items() if is_held_service(service) and kind not in no_service] == []


@pytest.mark.parametrize(
    "token",
    ["acme_live_[A-Za-z0-9]{32}", "acme_pat_[A-Za-z0-9]{24}", "acme-sk-[A-Za-z0-9_-]{40}", "acme_[a-f0-9]{40}"],
)
def test_a_token_of_a_service_that_nobody_listed_is_masked(token: str) -> None:
    made = make_example(token, 3)

    assert Redactor().redact(f"use {made} here").text == "use [redacted:token] here"


@pytest.mark.parametrize(
    "shape",
    [
        "cache-key-[0-9a-f]{32}",
        "sk-learn-contrib-imbalanced-ensemble-methods",
        "md:hover:bg-gradient-to-r-from-indigo-500-via-purple-500",
        "toolu_01[A-Za-z0-9]{22}",
        "msg_01[A-Za-z0-9]{22}",
        "PRRT_kwDOQ6DXvM5v7Yjy",
        "worktree-agent-[0-9a-f]{16}",
        "web-7d4b9c6f5d-x2x9z",
        "app-service-deployment-6d4cf56db6-x7k2p",
        "spotify:track:4uLU6hMCjMI75M1A2tKUQC",
        "pm_1MqLiJLkdIwHu7ixUEgbFdYF",
        "user_2NNEqL2nrIRdJ194ndJqAHwEfxC",
        "h1:NIvaJDMOsjHA8n1jAhLSgzrw1Sb26c9cTtKDPVSJqJg=",
        "sha512-[A-Za-z0-9]{86}",
        "i-0[0-9a-f]{16}",
        "lodash-4.17.21-[0-9a-f]{64}",
    ],
)
def test_what_is_written_like_a_token_and_names_a_thing_stays(shape: str) -> None:
    made = make_example(shape, 3)

    assert Redactor().redact(f"see {made} there").text == f"see {made} there"
