import datetime as dt
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.document import Layer, SourcePath
from memory_server.errors import ContentError, Problem
from memory_server.layers import topics
from memory_server.layers.mif import Frontmatter, parse_frontmatter
from memory_server.layers.topics import (
    MAX_SOURCE_BYTES,
    SourceFile,
    TopicHead,
    as_document,
    find_sources,
    find_summary,
    first_heading,
    make_head,
    name_in_words,
    read_document,
    topic_heads,
    topic_name,
)
from memory_server.root.paths import MemoryRoot
from tests.memories import root_at

MAIL = SourceFile(SourcePath("topics/mail.md"), Layer.TOPIC)


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    return root_at(tmp_path)


def write(root: MemoryRoot, path: str, text: str | bytes = "# A title\n") -> None:
    file = root.path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)


def test_sources_come_layer_by_layer_and_leave_out_what_is_no_source(root: MemoryRoot) -> None:
    for path in ("MEMORY.md", "lessons.md", "topics/b.md", "topics/a/c.md", "sessions/compressed/2026/s.md"):
        write(root, path)
    for path in ("proposals/p.md", "reports/r.md", ".blackboard/b.md", "topics/.hidden.md", "topics/.git/x.md"):
        write(root, path)
    write(root, "episodes/2026/e.md")
    write(root, "topics/#draft.md")
    write(root, "topics/notes.txt")

    sources = [(source.path, source.layer) for source in find_sources(root)]

    assert sources == [
        ("MEMORY.md", Layer.TOPIC),
        ("lessons.md", Layer.TOPIC),
        ("topics/b.md", Layer.TOPIC),
        ("topics/a/c.md", Layer.TOPIC),
        ("sessions/compressed/2026/s.md", Layer.SESSION),
        ("episodes/2026/e.md", Layer.SESSION),
    ]


def test_a_symlink_brings_nothing_into_the_memory(root: MemoryRoot, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "evil.md").write_text("# Evil\n", encoding="utf-8")
    root.topics.mkdir()
    (root.topics / "evil.md").symlink_to(outside / "evil.md")
    (root.topics / "folder").symlink_to(outside)
    root.lessons.symlink_to(outside / "evil.md")
    root.episodes.symlink_to(outside)

    assert list(find_sources(root)) == []


def test_what_lies_among_the_sources_and_is_none_is_told_but_no_editors_file(root: MemoryRoot) -> None:
    for name in ("#inbox/a.md", "#inbox/b.txt", ".obsidian/app.json", ".#a.md", "a.md~", ".hidden.md"):
        write(root, f"topics/{name}")
    skipped: list[Problem] = []

    assert [source.path for source in find_sources(root, skipped)] == ["topics/#inbox/a.md"]
    assert [(one.path, one.rule) for one in skipped] == [("topics/#inbox/b.txt", "file-ignored")]


def test_a_pipe_or_a_name_that_is_no_text_does_not_stop_the_reading(root: MemoryRoot) -> None:
    write(root, "topics/mail.md")
    os.mkfifo(root.topics / "pipe.md")
    (root.topics / os.fsdecode(b"\xff.md")).write_text("# Odd\n", encoding="utf-8")

    assert [source.path for source in find_sources(root)] == ["topics/mail.md"]


def test_a_document_takes_its_head_from_the_frontmatter(root: MemoryRoot) -> None:
    write(
        root,
        "topics/mail.md",
        "---\ntitle: Mail relay\ntype: Semantic\ncreated: 2026-01-02\nmodified: 2026-03-04T05:06:07Z\nproject: shop\n"
        "tags: [DNS, mail]\nrelationships:\n  - type: supersedes\n    target: sessions/x.md\n---\n# Heading\n",
    )

    document = read_document(root, MAIL)

    assert document.title == "Mail relay"
    assert document.date == dt.date(2026, 3, 4)
    assert (document.kind, document.project, document.tags) == ("semantic", "shop", ("dns", "mail"))
    assert document.supersedes == ("sessions/x.md",)
    assert (document.body, document.body_line) == ("# Heading\n", 12)


def test_plain_markdown_is_a_topic_too(root: MemoryRoot) -> None:
    write(root, "topics/mail.md", "Some text.\n")

    document = read_document(root, MAIL)

    assert (document.title, document.date, document.body_line) == ("mail", None, 1)


def test_a_date_in_the_name_stands_in_for_a_missing_one() -> None:
    source = SourceFile(SourcePath("sessions/compressed/2026/2026-03-02-mail-1a2b3c4d.md"), Layer.SESSION)

    assert as_document(source, parse_frontmatter("text")).date == dt.date(2026, 3, 2)


@pytest.mark.parametrize(
    ("raw", "line", "what"),
    [
        (b"a\nb\xff\n", 2, "UTF-8"),
        (b"a\n\nb\0", 3, "NUL"),
        (b"x" * (MAX_SOURCE_BYTES + 1), 1, "bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(root: MemoryRoot, raw: bytes, line: int, what: str) -> None:
    write(root, "topics/mail.md", raw)

    with pytest.raises(ContentError, match=what) as raised:
        read_document(root, MAIL)

    assert (str(raised.value.where), raised.value.line) == ("topics/mail.md", line)


@pytest.mark.parametrize(
    ("body", "heading"),
    [
        ("# Mail relay #\n", "Mail relay"),
        ("text\r\n\r\n## Mail\r\nmore", "Mail"),
        ("one\r# Mail\rtwo", "Mail"),
        ("# C#\n", "C#"),
        ("```sh\n# a comment\n```\n# Mail\n", "Mail"),
        ("````\n```\n# inside\n````\n# Mail\n", "Mail"),
        ("```inline``` code\n# Mail\n", "Mail"),
        ("~~~\n# never closed\n", ""),
        ("#hashtag\n# ##\n# Mail\n", "Mail"),
        ("Harbour\n=======\n\nIt opens at six.\n", "Harbour"),
        ("\nHarbour hours  \r\n---\r\ntext", "Harbour hours"),
        ("text over\ntwo lines\n\n---\n# Mail\n", "Mail"),
        ("- an item\n---\n# Mail\n", "Mail"),
        ("| a |\n|---|\n# Mail\n", "Mail"),
        ("<!--\n# hidden\n-->\n# Mail\n", "Mail"),
        ("%%\n# hidden\n%%\n# Mail\n", "Mail"),
        ("# a" + " " * 100_000 + "b\n", "a" + " " * 100_000 + "b"),
    ],
)
def test_the_first_heading_outside_code_is_the_title(body: str, heading: str) -> None:
    assert first_heading(body) == heading


@given(st.text())
def test_any_text_has_a_title_or_none(body: str) -> None:
    assert "\n" not in first_heading(body)


def test_a_head_is_parsed_once_until_its_file_changes(root: MemoryRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(source: SourceFile, text: Frontmatter) -> TopicHead:
        parsed.append(source.path)
        return make_head(source, text)

    monkeypatch.setattr(topics, "make_head", counted)
    monkeypatch.setattr(time, "time", lambda: 4e9)  # long after the files were saved
    write(root, "topics/mail.md", "# Mail\n")
    write(root, "topics/shop.md", "# Shop\n")
    topic_heads(root)
    topic_heads(root)
    assert parsed == ["topics/mail.md", "topics/shop.md"]

    write(root, "topics/mail.md", "# Letters\n")

    assert [head.title for head in topic_heads(root)] == ["Letters", "Shop"]
    assert parsed == ["topics/mail.md", "topics/shop.md", "topics/mail.md"]


def test_a_head_of_a_file_that_was_saved_just_now_is_parsed_each_time(root: MemoryRoot) -> None:
    write(root, "topics/mail.md", "# Mail\n")
    topic_heads(root)
    write(root, "topics/mail.md", "# Mall\n")  # of the same size, and within the clock's grain

    assert [head.title for head in topic_heads(root)] == ["Mall"]


def test_topics_are_listed_by_name_with_the_lessons_last(root: MemoryRoot) -> None:
    write(root, "MEMORY.md")
    write(root, "lessons.md", "# Lessons\n")
    write(root, "topics/shop.md", "---\nsummary: What the shop is.\n---\n")
    write(root, "topics/mail.md", "# Mail\n\nIt listens on 2525.[^1] And more.\n")
    write(root, "topics/bad.md", b"\xff")

    heads = [(head.name, head.title, head.summary) for head in topic_heads(root)]

    assert heads == [
        ("bad", "(unreadable)", "the file is not UTF-8 text"),
        ("mail", "Mail", "It listens on 2525."),
        ("shop", "shop", "What the shop is."),
        ("lessons", "Lessons", ""),
    ]


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("Reboots into a [boot loader](Loaders.md) by [two ways](#ways).", "Reboots into a boot loader by two ways."),
        ("See ![the board](img/board.png 'Board') first.", "See the board first."),
        ("A list[0](x) and an [open one.", "A list0 and an [open one."),
        ("Kept in `a[i]`.[^1]", "Kept in `a[i]`."),
    ],
)
def test_a_summary_holds_the_text_of_links_and_not_where_they_lead(text: str, summary: str) -> None:
    assert find_summary(parse_frontmatter(f"{text}\n")) == summary


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_summary_is_neither_a_heading_in_two_lines_nor_a_comment(newline: str) -> None:
    body = "Harbour\n=======\n\n<!-- for us -->\nIt opens at six. %%nor this%%\n".replace("\n", newline)

    assert find_summary(parse_frontmatter(body)) == "It opens at six."


def test_a_long_summary_is_cut() -> None:
    summary = find_summary(parse_frontmatter(f"{'word ' * 100}\n"))

    assert len(summary) <= 120
    assert summary.endswith("word…")


@pytest.mark.parametrize(
    ("path", "words", "name"),
    [
        ("topics/mail-relay.md", "mail relay", "mail-relay"),
        ("topics/shop/api_keys.md", "api keys", "shop/api_keys"),
        ("lessons.md", "lessons", "lessons"),
    ],
)
def test_a_topic_is_named_by_its_path(path: str, words: str, name: str) -> None:
    assert name_in_words(SourcePath(path)) == words
    assert topic_name(SourcePath(path)) == name


def test_of_a_session_only_the_newest_revision_is_a_source(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "compressed" / "2026"
    folder.mkdir(parents=True)
    for name, session, revision in (
        ("2026-03-01-a-1111aaaa.md", "1111aaaa-x", 1),
        ("2026-03-01-a-1111aaaa-r2.md", "1111aaaa-x", 2),
        ("2026-03-02-b-1111aaaa.md", "1111aaaa-y", 1),
    ):
        own = f"extensions:\n  oneiros:\n    sessionId: {session}\n    revision: {revision}\n"
        (folder / name).write_text(f"---\n{own}---\n\n# A\n", encoding="utf-8")

    names = [Path(source.path).name for source in find_sources(root_at(tmp_path))]

    assert names == ["2026-03-01-a-1111aaaa-r2.md", "2026-03-02-b-1111aaaa.md"]
