"""What a memory says of its past: topics of a day that is over, what was lost and retired, what the report adds."""

import datetime as dt
import json
import os
import subprocess
from pathlib import Path

from tests.memories import write_topic
from tests.parts.keeping.test_fading import Clock, Oneiros
from tests.parts.keeping.test_fading import clock as clock
from tests.parts.keeping.test_fading import home as home
from tests.parts.keeping.test_fading import oneiros as oneiros

QUESTION = "which port does the relay listen on"


def commit(home: Path, day: str) -> None:
    root, date = home / "mem", f"{day}T12:00:00+00:00"
    variables = os.environ | {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    own = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("add", "."), (*own, "commit", "--quiet", "-m", day)):
        subprocess.run(["git", "-C", str(root), *words], env=variables, check=True)


def first(oneiros: Oneiros, *words: str) -> dict[str, str]:
    hits = json.loads(oneiros("recall", " ".join(words), "--json")[1])["hits"]
    return hits[0] if hits else {}


def test_as_of_answers_with_topics_as_git_had_them_then(oneiros: Oneiros, home: Path) -> None:
    for day, port in (("2025-02-10", 2525), ("2025-03-20", 2526), ("2025-06-01", 2527)):
        write_topic(home / "mem", "mail", f"# Mail\n\nThe relay listens on port {port}.\n", title="Mail")
        commit(home, day)
    oneiros("ingest")

    assert "2527" in first(oneiros, QUESTION)["passage"]
    for asked, value in (("2025-02", "2525"), ("2025-03", "2526"), ("2025-03-19", "2525"), ("2025", "2527")):
        hit = first(oneiros, QUESTION, f"as_of:{asked}")
        assert value in hit["passage"] and hit["outside"].startswith("as it was on 2025"), asked
        assert not hit["decides"]
    assert "No topic as it was on 2024-12-31" in oneiros("recall", f"{QUESTION} as_of:2024")[2]
    assert first(oneiros, QUESTION, "as_of:2030")["outside"] == "as it was on 2026-03-02"  # of today, not of 2030


def test_as_of_finds_sessions_up_to_then_alone(oneiros: Oneiros, home: Path) -> None:
    write_topic(home / "mem", "cats", "# Cats\n\nThe cat sleeps.\n")
    commit(home, "2025-02-10")
    oneiros("ingest")
    question = "which rollers were ordered for the printer"

    assert first(oneiros, question, "as_of:2026-03")["layer"] in ("raw", "session")
    assert first(oneiros, question, "as_of:2026-02") == {}


def test_a_day_that_is_none_is_told(oneiros: Oneiros) -> None:
    code, _, output = oneiros("recall", QUESTION, "as_of:soon")

    assert code == 2 and "'soon' is no date" in output


def test_a_topic_is_retired_by_a_commit_and_comes_back(oneiros: Oneiros, home: Path) -> None:
    file = write_topic(home / "mem", "mail", "# Mail\n\nThe relay listens on port 2525.\n", title="Mail")
    before = file.read_bytes()
    commit(home, "2026-02-10")
    oneiros("reindex")

    code, out, output = oneiros("topics", "retire", "mail")
    assert (code, file.exists(), "Retire topics/mail.md" in out) == (0, False, True), output
    undo = output.partition("oneiros dream revert ")[2].split()[0]
    assert oneiros("dream", "revert", undo)[0] == 0

    assert file.read_bytes() == before


def test_what_is_lost_is_said_by_status_and_report(oneiros: Oneiros, home: Path) -> None:
    for number in range(10):
        write_topic(home / "mem", f"t{number}", f"# T{number}\n\nThe host {number} is in the hall.\n")
    oneiros("reindex")
    (home / "mem" / "topics" / "t3.md").unlink()
    oneiros("reindex")

    assert "topics are found no more since" in oneiros("status")[1]
    assert "topics are found no more since" in oneiros("report")[1]


def test_the_report_names_what_nobody_uses_and_the_command_for_it(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    write_topic(home / "mem", "old", "# Old\n\nThe old printer stands in the cellar.\n", modified="2025-06-01")
    ended = {"title": "Over", "temporal": {"validUntil": "2026-02-01"}}
    write_topic(home / "mem", "over", "# Over\n\nThe guest network is open.\n", **ended)
    oneiros("ingest")
    oneiros("recall", QUESTION)
    clock.now += dt.timedelta(days=200)

    oneiros("report")

    [page] = (home / "mem" / "reports").glob("*.md")
    text = page.read_text(encoding="utf-8")
    assert "oneiros topics retire old" in text and "oneiros topics retire over" in text
    assert "sessions and episodes would fade, last alive: sessions/" in text and "oneiros drill ID" in text
    assert "no backup was made for 200 days" in text
