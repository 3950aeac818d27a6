"""The keys of every file that dream writes: what lies on a disk stays readable."""

import json
from pathlib import Path
from typing import Any

import pytest

from dream.decisions.journal import Journal
from dream.progress import DreamProgress
from dream.run import Bounds
from oneiros.founding import EXAMPLE_QUESTIONS, find_example
from tests.crawler.builders import SESSION, person
from tests.dream.builders import PERSON, decisions_on, extending, new_topic, proposed
from tests.dream.test_run import BEGUN, RULE, House
from tests.memories import new_root, write_topic

QUOTE = "session_id entry role time first end text"
METADATA = "type namespace tags citations"
CANDIDATE = (
    f"text kind quotes[{QUOTE}] confidence why extractor topic section summary project context given "
    f"metadata({METADATA}) questions is_filed"
)
PLACE = "target after_line title summary section replaces old_text kept_before kept_after origin"
UPDATE = f"candidate({CANDIDATE}) relation place({PLACE}) why"
HUNK = f"id update({UPDATE}) text found base anchor heading state proposal proposed decided reason"
CHANGE = "path before after approved splices[first new old]"
APPROVAL = f"event at files[{CHANGE}] hunk proposal label text suggested old_text quotes[{QUOTE}] nonce given questions"
FILE_HASHES = "path after approved way_back"
ENTRY = f"event at how nonce previous hunk files[{FILE_HASHES}] terminal ancestors covers key signature"


def keys(value: Any) -> str:
    """The keys of an object in their order, with those of the objects and lists in it."""
    if not isinstance(value, dict):
        return ""
    words = []
    for key, inner in value.items():
        within = keys(inner[0]) if isinstance(inner, list) and inner else keys(inner)
        marks = "[]" if isinstance(inner, list) else "()"
        words.append(f"{key}{marks[0]}{within}{marks[1]}" if within else key)
    return " ".join(words)


def test_the_files_of_proposals_and_decisions_have_these_keys(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", "# Mail\n\n- The relay listens on port 2525.\n")
    decisions = decisions_on(root)
    first, second = proposed(decisions, extending(root, "It needs TLS.", "2525"), new_topic("Backups run.", "b", 2))
    decisions.accept(first.id, PERSON)
    decisions.reject(second.id, PERSON, "no")
    decisions.queue.add([new_topic("Archives are kept.", "c", 3)], BEGUN.date())

    folder = root.path / "proposals"
    hunks = json.loads((folder / "2026-03-02-1" / "hunks.json").read_bytes())
    approvals = [json.loads(line) for line in root.approvals.read_bytes().splitlines()]
    rejected = json.loads((folder / "rejected.jsonl").read_bytes())
    assert {keys(hunk) for hunk in hunks} == {HUNK}
    assert keys(json.loads((folder / "queue.json").read_bytes())[0]) == HUNK
    assert keys(approvals[-1]) == APPROVAL
    assert keys(json.loads((folder / "decisions.jsonl").read_bytes().splitlines()[-2])) == ENTRY
    assert keys(rejected) == f"hunk target text reason at quotes[{QUOTE}] given project"


def test_a_plan_that_a_kill_left_has_these_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = new_root(tmp_path / "memory")
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("Backups run.", "b"))
    monkeypatch.setattr(Journal, "_complete_plan", lambda *_: [])  # killed right behind the writing down

    decisions.accept(hunk.id, PERSON)

    plan = json.loads(root.journal.read_bytes())
    assert list(plan.pop("texts")) == ["topics/b.md", "MEMORY.md"]
    assert keys(plan) == f"noted[entry({ENTRY}) approval({APPROVAL}) rejection] hunks[{HUNK}] message moved"


def test_the_files_of_a_run_have_these_keys(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.ingest(person(1, RULE), session=SESSION)
    house.dreamer().run(Bounds())

    DreamProgress(house.root).serve(house.archive, "app", is_first=True, is_wanted=lambda _: True)
    read, served = (
        json.loads((house.root.derived_folder / f"{name}.json").read_bytes()) for name in ("dream", "dream-served")
    )
    assert (list(read), list(served)) == (["sessions", "last_run"], ["past", "now", "project"])


def test_the_questions_that_ship_with_the_example_have_these_keys() -> None:
    rows = (find_example() / EXAMPLE_QUESTIONS).read_bytes().splitlines()

    assert {keys(json.loads(row)) for row in rows} == {"path statement questions"}
