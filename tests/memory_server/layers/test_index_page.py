import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.chunking import POINTERS_BEGIN, POINTERS_END, split_lines
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.index_page import escape_target, find_markers, pointer, with_pointers, write_index_page
from memory_server.layers.topics import LEFT_OUT, TopicHead, topic_heads
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import MemorySettings
from tests.memories import names, new_root, recall, root_at, write_topic

SETTINGS = MemorySettings()


def head(name: str, summary: str = "What it is.", title: str = "", project: str = "") -> TopicHead:
    return TopicHead(name, title or name, None, summary, SourcePath(f"topics/{name}.md"), project=project)


PROJECTS = st.sampled_from(["", "shop", "Shop", "garden"]) | st.text(max_size=10)
HEADS = st.lists(
    st.builds(head, st.text(min_size=1, max_size=30), st.text(max_size=200), st.text(max_size=150), PROJECTS),
    max_size=30,
    unique_by=lambda head: head.name,
)
PAGE_LINES = ["# Memory", "", "- mine", "```", "~~~", "    code", POINTERS_BEGIN, POINTERS_END, "  <!--", "> x"]
PAGES = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PAGE_LINES), max_size=10).map("\n".join))


@given(PAGES, HEADS)
def test_writing_twice_gives_the_same_bytes(text: str, heads: list[TopicHead]) -> None:
    try:
        once = with_pointers(text, heads, SETTINGS)
    except ContentError:
        return

    assert with_pointers(once, heads, SETTINGS) == once


@given(HEADS)
def test_the_order_of_the_heads_does_not_matter(heads: list[TopicHead]) -> None:
    assert with_pointers("", heads, SETTINGS) == with_pointers("", heads[::-1], SETTINGS)


@given(st.text(max_size=200), st.text(max_size=200), HEADS, st.sampled_from(["\n", "\r\n"]))
def test_the_lines_outside_the_markers_are_kept_byte_for_byte(
    above: str, below: str, heads: list[TopicHead], newline: str
) -> None:
    gone = f"topics/{'old-' * 10}.md"  # longer than any name that is drawn
    begin, end = f"{above}\n\n{POINTERS_BEGIN}{newline}", f"{POINTERS_END}{newline}{below}"
    page = f"{begin}- [old]({gone}){newline}{end}"
    try:
        markers = find_markers(page)
    except ContentError:
        return
    if markers is None:
        return

    written = with_pointers(page, heads, SETTINGS)

    assert written.startswith(begin)
    assert written.endswith(end)
    assert gone not in written[len(begin) : -len(end)]


@given(HEADS, st.integers(8, 60), st.integers(300, 5_000))
def test_the_page_stays_within_its_limits(heads: list[TopicHead], max_lines: int, max_chars: int) -> None:
    settings = MemorySettings(index_max_lines=max_lines, index_max_chars=max_chars)

    page = with_pointers("# Memory\n", heads, settings)

    assert len(split_lines(page)) <= max_lines
    assert len(page) <= max_chars


@given(st.text(min_size=1))
def test_a_target_names_its_file(name: str) -> None:
    target = escape_target(SourcePath(f"topics/{name}.md"))

    assert unquote(target) == f"topics/{name}.md"
    assert not re.search(r"[ ()<>\n\t]", target)


def test_markers_are_added_at_the_end_of_a_page_without_any() -> None:
    page = with_pointers("# Memory\n\nMine.", [head("mail", "The relay.", "Mail")], SETTINGS)

    assert page == f"# Memory\n\nMine.\n\n{POINTERS_BEGIN}\n- [Mail](topics/mail.md): The relay.\n{POINTERS_END}\n"


def test_summaries_are_shortened_before_topics_are_left_out() -> None:
    heads = [head(f"topic-{number:02}", "A long summary of what it is about. " * 3) for number in range(20)]

    page = with_pointers("", heads, MemorySettings(index_max_chars=1_700))

    assert page.count("\n- [") == 20
    assert "A long summary of what it is…" in page


def test_topics_that_do_not_fit_are_counted_with_how_to_list_them() -> None:
    heads = [head(f"topic-{number:03}") for number in range(300)]

    lines = with_pointers("# Memory\n", heads, SETTINGS).splitlines()

    assert len(lines) == 200
    assert lines[-2] == "- 105 more topics: `oneiros topics` lists all 300"


def test_topics_stand_by_project_the_persons_own_first() -> None:
    heads = [
        head("shop/till", "It rounds up.", "Till", "shop"),
        head("mail", "Mail.", "Mail"),
        head("shop/beds", "Raised ones.", "Beds", "Shop"),
        head("garden/beds", "They are watered.", "Beds", "garden"),
        head("shop/beds-2", "Made of oak.", "Beds", "shop"),
    ]

    page = with_pointers(f"{POINTERS_BEGIN}\n{POINTERS_END}\nMine.\n", heads, SETTINGS)

    assert page.splitlines()[1:-2] == [
        "- [Mail](topics/mail.md)",
        "- **garden**",
        "  - [Beds](topics/garden/beds.md): They are watered.",
        "- **shop**",
        "  - [Beds (shop/beds-2)](topics/shop/beds-2.md): Made of oak.",
        "  - [Beds (shop/beds)](topics/shop/beds.md): Raised ones.",
        "  - [Till](topics/shop/till.md): It rounds up.",
    ]


def test_a_page_of_36_topics_of_eight_projects_has_60_lines_at_most() -> None:
    projects = ["", *(f"project-{number}" for number in range(8))]
    heads = [head(f"t{number}", project=projects[number % 9]) for number in range(36)]

    page = with_pointers("# Memory\n\nWhat is known.\n", heads, SETTINGS)

    assert page.count("](topics/") == 36 and len(page.splitlines()) == 36 + 8 + 6


def test_the_topics_that_are_used_least_are_left_to_recall() -> None:
    heads = [head(f"topic-{number:03}", project="shop" if number % 2 else "") for number in range(300)]
    uses = {one.path: int(one.name[-3:]) for one in heads}

    page = with_pointers("# Memory\n", heads, SETTINGS, uses)

    assert "(topics/topic-299.md)" in page and "(topics/topic-000.md)" not in page
    assert len(page.splitlines()) == 200 and "- 106 more topics: `oneiros topics` lists all 300" in page


@given(HEADS)
def test_no_two_entries_are_alike_and_none_is_escaped(heads: list[TopicHead]) -> None:
    page = with_pointers("", heads, SETTINGS)

    entries = [line for line in page.splitlines() if "](topics/" in line]
    assert len(set(entries)) == len(entries) == len(heads)
    assert "\\" not in page


def test_a_topic_that_nobody_approved_has_no_pointer(tmp_path: Path) -> None:
    root = new_root(tmp_path)
    write_topic(root, "cats", "# Cats\n\nThey sleep.\n")
    write_topic(root, "dogs", "# Dogs\n\nThey bark.\n")

    write_index_page(root, SETTINGS, lambda paths: {path: LEFT_OUT for path in paths if "dogs" in path})

    page = root.index_page.read_text(encoding="utf-8")
    assert "topics/cats.md" in page and "dogs" not in page.casefold()


def test_a_title_cannot_forge_a_link_or_a_line() -> None:
    line = pointer(head("mail", "See\u202e [this](evil.md)\n<!-- x -->", "Mail](evil.md)\r\n- [x"))

    assert line == "- [Mail)(evil.md) - (x](topics/mail.md): See (this)(evil.md) ‹!-- x -->"


@pytest.mark.parametrize(
    ("page", "line"),
    [
        (f"{POINTERS_BEGIN}\n", 1),
        (f"a\n{POINTERS_END}\n", 2),
        (f"{POINTERS_END}\n{POINTERS_BEGIN}\n", 2),
        (f"{POINTERS_BEGIN}\n{POINTERS_END}\n\n{POINTERS_BEGIN}\n", 4),
        ("# Memory\n\n```\nnever closed\n", 3),
    ],
)
def test_a_page_on_which_the_place_is_not_clear_is_left_alone(page: str, line: int) -> None:
    with pytest.raises(ContentError) as raised:
        with_pointers(page, [], SETTINGS)

    assert raised.value.line == line


def test_markers_shown_as_code_are_not_the_markers() -> None:
    page = f"```\n{POINTERS_BEGIN}\n{POINTERS_END}\n```\n"

    written = with_pointers(page, [head("mail")], SETTINGS)

    assert written.startswith(page)
    assert written.count(POINTERS_BEGIN) == 2


def test_a_missing_page_is_made_and_a_level_one_is_not_touched(tmp_path: Path) -> None:
    root = root_at(tmp_path)
    root.topics.mkdir()
    (root.topics / "mail relay.md").write_text("# Mail\n\nIt listens on 2525.\n", encoding="utf-8")

    assert write_index_page(root, SETTINGS)
    assert not write_index_page(root, SETTINGS)

    assert root.index_page.read_text(encoding="utf-8") == (
        f"# Memory\n\n{POINTERS_BEGIN}\n- [Mail](topics/mail%20relay.md): It listens on 2525.\n{POINTERS_END}\n"
    )


def test_a_page_that_is_no_text_is_named_and_kept(tmp_path: Path) -> None:
    root = root_at(tmp_path)
    root.index_page.write_bytes(b"\xff\xfe")

    with pytest.raises(ContentError, match=r"^MEMORY\.md:1: "):
        write_index_page(root, SETTINGS)

    assert root.index_page.read_bytes() == b"\xff\xfe"


def test_a_reindex_points_to_a_topic_that_was_written_by_hand(memory: Memory) -> None:
    own = "# Memory of Ada\n\nRead me first.\n"
    memory.root.index_page.write_text(own, encoding="utf-8")
    write_topic(memory, "cats", "# Cats\n\nThe cat is grey.\n")

    memory.reindex()

    page = memory.root.index_page.read_text(encoding="utf-8")
    assert page == f"{own}\n{POINTERS_BEGIN}\n- [Cats](topics/cats.md): The cat is grey.\n{POINTERS_END}\n"
    assert memory.upkeep.changes().is_empty


def test_a_page_that_cannot_be_pointed_keeps_no_topic_from_being_indexed(memory: Memory) -> None:
    torn = f"# Memory\n\n{POINTERS_END}\n"
    memory.root.index_page.write_text(torn, encoding="utf-8")
    write_topic(memory, "cats", "# Cats\n\nThe cat is grey.\n")

    memory.reindex()

    assert memory.root.index_page.read_text(encoding="utf-8") == torn
    assert names(recall(memory, "which colour has the cat"))[0] == "cats"


def test_what_a_person_saved_while_the_page_was_made_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = new_root(tmp_path)
    write_topic(root, "cats", "# Cats\n")

    def heads_while_a_person_saves(of: MemoryRoot) -> list[TopicHead]:
        of.index_page.write_text("# Saved\n", encoding="utf-8")
        return topic_heads(of)

    monkeypatch.setattr("memory_server.layers.index_page.topic_heads", heads_while_a_person_saves)

    assert not write_index_page(root, SETTINGS)
    assert root.index_page.read_text(encoding="utf-8") == "# Saved\n"
