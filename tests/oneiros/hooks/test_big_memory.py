"""The start of a session in a memory with more topics than a hook may say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.layers.index_page import own_lines, with_pointers
from memory_server.layers.topics import topic_heads
from memory_server.memory import Memory
from memory_server.settings import MemorySettings
from oneiros.hooks.call import HookCall
from oneiros.hooks.session_start import ReviewLines, answer_session_start
from tests.conftest import MakeEngine
from tests.memories import new_root, open_memory, write_source, write_topic

BUDGET = 2_000
LESSONS = """# Lessons

- Look before you leap.

## shop

- Count the till
  twice.

## garden

- Mind the frost.
"""
OWN = ("Invoices go out on Mondays.", "- The printer is on floor three.")


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory, make_engine: MakeEngine) -> Iterator[Memory]:
    """36 topics of some projects, lessons, and a page on which the person wrote two lines."""
    root = new_root(tmp_path_factory.mktemp("big") / "memory")
    for number in range(30):
        text = (
            f"# Subject {number}\n\nWhat holds of subject {number}, in a sentence of some length that fills its line.\n"
        )
        write_topic(root, f"subject-{number:02}", text)
    write_topic(root, "z-kept", "# Kept\n\nAlways wanted.\n", keep=True)
    write_topic(root, "shop/z-shop", "# Till\n\nThe till rounds up.\n", project="shop")
    write_topic(root, "z-relay", "# Relay\n\nThe relay listens on 2525.\n")
    write_topic(root, "z-invoices", "# Invoices\n\nThey are numbered.\n")
    write_topic(root, "garden/a-garden", "# Garden\n\nWater the beds.\n", project="garden")
    write_topic(root, "a-old", "# Old\n\nIt was so.\n", keep=True, validUntil="2025-12-31")
    write_source(root, "lessons.md", LESSONS)
    (root.path / "MEMORY.md").write_text("# Memory\n\n" + "\n".join(OWN) + "\n", encoding="utf-8")
    with open_memory(root, make_engine) as memory:
        memory.reindex()
        yield memory


def started(memory: Memory, home: Path, folder: Path | None = None, budget: int = BUDGET) -> list[str]:
    """The lines that the model is given."""
    call = HookCall("SessionStart", folder=str(folder or ""))
    return answer_session_start(memory, call, home, budget, ReviewLines()).context.splitlines()


def repository(folder: Path, branch: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
    return folder


def pointed(lines: list[str]) -> list[str]:
    return [line.partition("(topics/")[2].partition(".md)")[0] for line in lines if "(topics/" in line]


def test_the_persons_lines_come_first_then_lessons_then_topics(big: Memory, tmp_path: Path) -> None:
    lines = started(big, tmp_path)

    assert lines[2:4] == list(OWN)
    assert lines[4:6] == ["Lessons, to be checked before a task:", "- Look before you leap."]
    assert lines[6] == "Topics:"


def test_it_says_how_many_topics_stand_behind_recall(big: Memory, tmp_path: Path) -> None:
    lines = started(big, tmp_path)

    shown = len(pointed(lines))
    assert 0 < shown < 33
    assert lines[-2] == f"- {33 - shown} more topics stand behind recall."
    assert len("\n".join(lines).encode()) <= BUDGET


def test_what_matters_here_comes_first_and_what_has_ended_does_not_come(big: Memory, tmp_path: Path) -> None:
    found = pointed(started(big, tmp_path, tmp_path / "shop", budget=9_000))

    assert found[:4] == ["z-kept", "shop/z-shop", "subject-00", "subject-01"]
    assert "a-old" not in found and len(found) == 34


def test_lessons_that_fill_all_leave_the_line_that_says_how_many_topics_there_are(big: Memory, tmp_path: Path) -> None:
    before = big.root.lessons.read_text(encoding="utf-8")
    big.root.lessons.write_text("# Lessons\n\n" + "- Look, and look again.\n" * 200, encoding="utf-8")
    try:
        lines = started(big, tmp_path)
    finally:
        big.root.lessons.write_text(before, encoding="utf-8")

    assert lines[-3:-1] == ["Topics:", "- 33 more topics stand behind recall."]
    assert len("\n".join(lines).encode()) <= BUDGET


def test_nothing_of_another_project_is_given(big: Memory, tmp_path: Path) -> None:
    given = {place: "\n".join(started(big, tmp_path, tmp_path / place, budget=9_000)) for place in ("shop", "Garden")}
    nowhere = "\n".join(started(big, tmp_path, budget=9_000))

    assert "- Count the till twice." in given["shop"] and "till" not in given["Garden"].casefold()
    assert "- Mind the frost." in given["Garden"] and "garden" not in given["shop"].casefold()
    assert "till" not in nowhere.casefold() and "frost" not in nowhere and "- Look before you leap." in nowhere


def test_the_same_memory_and_project_give_the_same_bytes(big: Memory, tmp_path: Path) -> None:
    one, other = repository(tmp_path / "a" / "shop", "main"), repository(tmp_path / "b" / "shop", "relay")

    before = started(big, tmp_path, one)
    big.read("z-relay")  # used, and no approval since

    assert started(big, tmp_path, one) == started(big, tmp_path, other) == before


def test_a_page_that_the_client_loads_is_not_repeated(big: Memory, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "CLAUDE.md").write_text(f"@{big.root.index_page}\n", encoding="utf-8")

    lines = started(big, tmp_path)

    assert pointed(lines) == [] and OWN[0] not in lines
    assert "- Look before you leap." in lines


def test_a_long_page_of_the_person_leaves_room_for_topics(big: Memory, tmp_path: Path) -> None:
    page, before = big.root.index_page, big.root.index_page.read_text(encoding="utf-8")
    page.write_text(before.replace(OWN[0], "\n".join(f"Line {n} of many." for n in range(300))), encoding="utf-8")
    try:
        lines = started(big, tmp_path)
    finally:
        page.write_text(before, encoding="utf-8")

    assert lines[2] == "Line 0 of many."
    assert any(line.endswith('more lines: read_memory("MEMORY"))') for line in lines)
    assert pointed(lines)[0] == "z-kept"


@pytest.mark.parametrize("count", [0, 150, 195, 196, 197, 198, 199, 200, 260])
@pytest.mark.parametrize("is_below", [True, False])
def test_pointers_never_push_a_line_of_the_person_off_the_page(big: Memory, count: int, is_below: bool) -> None:
    settings = MemorySettings()
    lines = "".join(f"Line {number}.\n" for number in range(count))
    frame = "<!-- oneiros:topics:begin -->\n<!-- oneiros:topics:end -->\n"
    text = frame + lines if is_below else lines + frame

    page = with_pointers(text, topic_heads(big.root), settings)

    assert own_lines(page) == lines.splitlines()
    assert len(page.splitlines()) <= max(settings.index_max_lines, count + 2)
