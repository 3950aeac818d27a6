"""Measures the page in a real browser.

    python -m benchmarks.page --json FILE [--chunks 30000] [--sessions 500 | --data DIR] [--samples DIR]
    python -m benchmarks.page --windows

Times are from a click to the frame in which what was asked for stands, in milliseconds, the median of RUNS behind a
first one; `bytes` is all that a browser fetches for Today, which loads most. `axe_serious` counts findings of
all views in both colours, `hostile_executed` scripts of a memory that is full of them. Needs `make setup-page`.
"""

import argparse
import contextlib
import datetime as dt
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_text
from benchmarks.scale import questions
from benchmarks.synthetic import fill_vectors, write_corpus
from benchmarks.systems import catalogue
from crawler.archive.append import Ingester
from memory_server.layers.sessions import CompressedSession, Section, Statement, write_session
from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from oneiros.light.endpoint import daemon_state
from tests.crawler.builders import OTHER_SESSION, assistant, call, person, result, settings_in, write_transcript
from tests.dream.builders import archive_statements, decisions_on, new_topic, proposed, quote
from tests.parts.page.browser import AXE, browser, link, secret_of
from tests.parts.page.filled import fill_hostile
from tests.system.house import House, wait_until

RUNS = 9
HUNKS = 20
TURNS = 1_000
WINDOWED = (100, 10_000)  # turns of the sessions whose windows are compared
WINDOWS = 30  # of each
LEVEL_SECONDS = 1_800.0
VIEWS = ("today", "search", "chat", "topics", "sessions", "review", "notes", "settings", "trainers")
FOLLOW = """async ([address, wanted]) => {
  document.querySelector("#view h1[data-title]")?.remove();  // that of the view; a passage beside the hits may have one
  const link = document.createElement("a");
  link.href = address;
  document.body.append(link);
  const began = performance.now();
  link.click();
  link.remove();
  const stands = () => document.querySelector("#view h1[data-title]") && document.querySelector(wanted);
  while (!stands()) {
    if (performance.now() - began > 20000) throw new Error(address + " does not come: " + document.body.innerText);
    await new Promise(next => setTimeout(next, 1));
  }
  await new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next)));
  return performance.now() - began;
}"""
FETCH = """async address => {
  const began = performance.now();
  await (await fetch(address, {headers: {"Oneiros-Page": sessionStorage.oneiros}})).text();
  return performance.now() - began;
}"""


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chunks", type=int, default=30_000)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--data", type=Path, help="a folder of transcripts, in the place of made sessions")
    parser.add_argument("--samples", type=Path, help="a folder for pictures of what was measured")
    parser.add_argument("--windows", action="store_true", help="measures windows of turns alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oneiros-page-") as home:
        os.environ["HOME"] = home
        print(machine_text())
        windows = measure_windows()
        others = (
            {}
            if arguments.windows
            else measure(arguments.chunks, arguments.data or arguments.sessions, arguments.samples)
        )
        figures = windows | others
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:<24} {value}")


@contextlib.contextmanager
def window(house: House, **settings: Any) -> Iterator[Any]:
    """A page of a served house in a browser of its own."""
    with browser() as chrome:
        context = chrome.new_context(**{"viewport": {"width": 1280, "height": 860}, **settings})
        context.add_init_script(secret_of(house, link(house)).script)
        page = context.new_page()
        page.goto(f"http://localhost:{daemon_state(house.state)['port']}/today")
        page.wait_for_selector("#view h1")
        yield page


def measure(chunks: int, sessions: int | Path, samples: Path | None) -> dict[str, Any]:
    """All figures of one run."""
    with contextlib.closing(House()) as house:
        questions = write_memory(house, chunks, sessions)
        house.client.start()
        wait_until(lambda: house.client.ask("GET", "/api/indexing")["runs"] > 0, LEVEL_SECONDS)
        # ChromaDB is opened behind the first run, whether a page is open or not
        wait_until(lambda: house.client.ask("GET", "/api/indexing")["semantic"] == "ChromaDB", LEVEL_SECONDS)
        for text in questions:  # what questions take is not the page's
            house.client.ask("POST", "/api/recall", {"query": text})
        house.client.ask("GET", f"/api/session?name={OTHER_SESSION}&depth=raw")
        before = resident_mb(house)
        figures: dict[str, Any] = {"passages": house.client.ask("GET", "/api/status")["passages"]}
        with window(house) as page:
            page.wait_for_selector(".plots svg")
            sizes = page.evaluate("performance.getEntries().map(one => one.transferSize || 0)")
            figures |= times(page, questions, samples)
            figures["bytes"] = sum(sizes)
            figures["axe_serious"] = sum(count_serious(page, scheme) for scheme in ("light", "dark"))
            end = time.monotonic() + 15  # lies open for a while, as pages do
            while time.monotonic() < end:
                page.wait_for_timeout(1_000)
            figures["daemon_mb"] = before
            figures["daemon_mb_with_page"] = resident_mb(house)
    return {**figures, "hostile_executed": count_executed()}


def measure_windows() -> dict[str, Any]:
    """What a window of turns takes in sessions of a hundred and of ten thousand: the first one, and those behind it."""
    figures: dict[str, Any] = {}
    with contextlib.closing(House()) as house:
        house.settle(raw_vectors=False)  # what is measured are other indices
        lengths = {length: f"{length:08}-0000-4000-8000-000000000000" for length in WINDOWED}
        for length, session in lengths.items():
            long_session(house, session, length)
        house.client.start()
        wait_until(lambda: house.client.ask("GET", "/api/indexing")["runs"] > 0, LEVEL_SECONDS)
        with window(house) as page:
            for length, session in lengths.items():
                places = [1 + at * (length - 20) // WINDOWS for at in range(WINDOWS + 1)]
                found = [page.evaluate(FETCH, f"/page/turns/{session}?first={place}") for place in places]
                figures[f"window_of_{length}_first_ms"] = round(found[0], 1)
                figures[f"window_of_{length}_ms"] = round(statistics.median(found[1:]), 1)
    few, many = (figures[f"window_of_{length}_ms"] for length in WINDOWED)
    return {**figures, "windows_ratio": round(many / few, 2)}


def times(page: Any, questions: Sequence[str], samples: Path | None) -> dict[str, float]:
    """How long a person waits for each view."""
    asking = "fetch('/page/review', {headers: {'Oneiros-Page': sessionStorage.oneiros}}).then(answer => answer.text())"
    hunks = page.evaluate(asking)
    names = list(dict.fromkeys(part[:12] for part in hunks.split('href="/review/')[1:]))
    turns = f"/sessions/{OTHER_SESSION}?depth=raw&first="
    views = {
        "first_hits_ms": ([f"/search?q={text.replace(' ', '+')}" for text in questions], ".hit, .empty"),
        "topic_ms": ([f"/topics/subject-{number:05}" for number in range(1, 3 * RUNS + 4, 3)], ".topic .row"),
        "session_ms": ([f"{turns}{1 + 50 * number}" for number in range(RUNS + 1)], ".turns li"),
        "review_ms": ([f"/review/{name}" for name in names], "#statement"),
        "today_ms": (["/today"] * (RUNS + 1), ".figures"),
        "topics_ms": (["/topics"] * (RUNS + 1), "table"),
        "sessions_ms": (["/sessions"] * (RUNS + 1), ".session"),
        "settings_ms": (["/settings"] * (RUNS + 1), ".setting"),
    }
    figures: dict[str, float] = {}
    for name, (addresses, wanted) in views.items():
        found = [page.evaluate(FOLLOW, [address, wanted]) for address in addresses[: RUNS + 1]]
        figures[name] = round(statistics.median(found[1:]), 1)
        figures[f"{name.removesuffix('_ms')}_slowest_ms"] = round(max(found), 1)
        if samples:
            samples.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(samples / f"{name.removesuffix('_ms')}.png"))
    return figures


def count_serious(page: Any, scheme: str) -> int:
    """Findings of axe-core that are serious or worse, in every view."""
    page.emulate_media(color_scheme=scheme)
    count = 0
    for view in VIEWS:
        page.evaluate(FOLLOW, [f"/{view}", "h1"])
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run().then(found => found.violations.map(one => one.impact))")
        count += sum(impact in ("serious", "critical") for impact in found)
    return count


def count_executed() -> int:
    """How many scripts of a hostile memory ran."""
    with contextlib.closing(House()) as house:
        hunk = fill_hostile(house)
        house.warm_up()
        with window(house) as page:
            ways = [f"/{view}" for view in VIEWS]
            ways += ["/topics/mail", "/topics/long", "/sessions/0badc0de", "/sessions/0badc0de?depth=raw"]
            for address in (*ways, f"/review/{hunk.id}", "/search?q=relay"):
                page.evaluate(FOLLOW, [address, "h1"])
            return int(page.evaluate("window.executed || 0"))


def write_memory(house: House, chunks: int, sessions: int | Path) -> list[str]:
    """A memory of that size with its indices, and questions about it; `sessions`: how many, or a folder of them."""
    root = house.memory_root
    house.settle(raw_vectors=False)  # what is measured are other indices
    corpus = write_corpus(root, chunks)
    if isinstance(sessions, Path):
        with Ingester(settings_in(root.path)) as ingester:
            ingester.ingest(sorted(sessions.rglob("*.jsonl")))
    else:
        for number in range(sessions):
            write_session(root.sessions, make_session(number, corpus.passages[number % len(corpus.passages)]))
    statements = [f"The relay {number} listens on port {2000 + number}." for number in range(HUNKS)]
    archive_statements(root, *statements)
    long_session(house)
    offered = [new_topic(text, f"relay-{n}", n, quotes=(quote(text, n),)) for n, text in enumerate(statements, start=1)]
    proposed(decisions_on(root), *offered)
    model = catalogue().find()
    fill_vectors(root, model)
    with Memory(root, person=PersonSettings(), catalogue=catalogue(), now=lambda: dt.datetime.now(dt.UTC)) as memory:
        memory.reindex()
    return questions(corpus, 6, RUNS + 1)


def make_session(number: int, text: str) -> CompressedSession:
    """One of many sessions."""
    day = dt.datetime(2026, 1, 1, 9, tzinfo=dt.UTC) + dt.timedelta(hours=9 * number)
    words = text.split()
    lines = [Statement(" ".join(words[at : at + 12]), (f"{number:08x}",)) for at in range(0, 60, 12)]
    return CompressedSession(
        f"{number + 0xA0000000:08x}-0000-4000-8000-000000000000",
        f"Session {number} about {words[0]}",
        " ".join(words[:20]),
        (Section("Goal", tuple(lines[:1])), Section("Key exchanges", tuple(lines[1:]))),
        project=f"/srv/project-{number % 12}",
        started=day,
        ended=day + dt.timedelta(hours=1),
        outcome="shipped",
    )


def long_session(house: House, session: str = OTHER_SESSION, turns: int = TURNS) -> None:
    """A session of many turns in the archive."""
    records = [person(1, "Look at the relays one after the other.")]
    for number in range(2, turns, 2):
        request = call("Bash", f"c{number}", command=f"systemctl status relay-{number}")
        records += [assistant(number, f"Relay {number} comes next.", request)]
        records += [result(number + 1, f"c{number}", "active\n" * 40)]
    with Ingester(settings_in(house.root)) as ingester:
        of_another = ({**one, "sessionId": session} for one in records)
        ingester.ingest([write_transcript(house.folder / "long", *of_another, session=session)])


def resident_mb(house: House) -> float:
    """What the daemon holds."""
    return round(house.daemon().memory_info().rss / 1e6, 1)


if __name__ == "__main__":
    main()
