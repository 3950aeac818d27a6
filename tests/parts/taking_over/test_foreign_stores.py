"""A database of another memory becomes pages of references, whatever its version."""

import sqlite3
from pathlib import Path

from parts.taking_over.foreign_stores import make_pages

EARLY = "create table observations (id integer primary key, project text, text text, type text, created_at text)"
LATE = "create table observations (project text, title text, facts text, narrative text, created_at text)"


def test_observations_and_facts_become_lines_of_their_project() -> None:
    database = sqlite3.connect(":memory:")
    database.execute(LATE)
    rows = [
        ("../app", "Relay moved", '["It listens on 2526.", 7]', None, "2026-03-01T10:00:00Z"),
        ("../app", "Relay moved", "broken", None, "2026-03-01T10:00:00Z"),
        (None, "A note\nof two lines", None, None, None),
    ]
    database.executemany("insert into observations values (?, ?, ?, ?, ?)", rows)

    pages = make_pages(database, Path("/mem.db"))

    head = "---\ntitle: 'claude-mem: ../app'\ntype: semantic\nproject: ../app\nsource: /mem.db\n---\n\n"
    assert pages["claude-mem/..-app.md"] == f"{head}- 2026-03-01: Relay moved\n- 2026-03-01: It listens on 2526.\n"
    assert pages["claude-mem/unknown.md"].endswith("\n- None: A note of two lines\n")


def test_an_early_version_and_a_stranger_are_read_as_far_as_they_go() -> None:
    early, stranger = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    early.execute(EARLY)
    early.execute("insert into observations values (1, 'app', 'Ports are fixed.', 'decision', '2026-03-01')")
    stranger.execute("create table observations (seen text)")

    [page] = make_pages(early, Path("a.db")).values()
    assert page.endswith("- 2026-03-01: Ports are fixed.\n")
    assert make_pages(stranger, Path("b.db")) == {}
