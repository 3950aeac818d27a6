import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.chunking import (
    HEADING_CHARS,
    MAX_CHARS,
    POINTERS_BEGIN,
    POINTERS_END,
    chunk_document,
    code_lines,
    split_lines,
)
from memory_server.document import Chunk, Document, Layer, SourcePath

BLOCKS = """# Mail
## Relay ##
- item
1. first
* * *
> quoted
~~~
    indented
<div>
Text[^1].
```inline``` code

"""
LINES = st.sampled_from(
    [
        *BLOCKS.splitlines(),
        "Title\n=====",
        "  - nested\n    more of it",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "```python\nprint(1)\n\nprint(2)\n```",
        "[^1]: a footnote\n\n    and its second part",
        "x" * 2_500,
        "word " * 400,
        "句子。" * 500,
        POINTERS_BEGIN,
        POINTERS_END,
        *(f"a{mark}b" for mark in "\t\x0b\x0c\x00\x85\u2028"),
    ]
)
BODIES = st.one_of(
    st.text(max_size=300),
    st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n", "\r", "\n\n"])), max_size=14).map(
        lambda parts: "".join(line + end for line, end in parts)
    ),
)
LAYERS = st.sampled_from([Layer.TOPIC, Layer.SESSION, Layer.REFERENCE])


def document(body: str, layer: Layer = Layer.TOPIC, body_line: int = 1) -> Document:
    return Document(SourcePath("topics/mail.md"), layer, "Mail", body=body, body_line=body_line)


def searchable(body: str) -> str:
    return "\n".join(chunk.searchable for chunk in chunk_document(document(body)))


def without_references(text: str) -> str:
    return re.sub(r"\[\^[^\]\[\s]+\]", "", text)


@given(BODIES, LAYERS)
def test_the_texts_of_all_chunks_joined_are_the_body(body: str, layer: Layer) -> None:
    chunks = chunk_document(document(body, layer))

    assert "".join(chunk.text for chunk in chunks) == body
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))


@given(BODIES, LAYERS, st.integers(1, 20))
def test_the_lines_of_a_chunk_hold_what_is_searchable_of_it(body: str, layer: Layer, body_line: int) -> None:
    lines = ["\n"] * (body_line - 1) + split_lines(body)

    for chunk in chunk_document(document(body, layer, body_line)):
        written = without_references("".join(lines[chunk.lines.first - 1 : chunk.lines.last]))
        assert all(line.strip() in written for line in split_lines(without_references(chunk.searchable)))
        assert chunk.searchable == "" or (lines[chunk.lines.first - 1].strip() and lines[chunk.lines.last - 1].strip())


@given(BODIES, LAYERS)
def test_no_passage_is_longer_than_a_model_reads(body: str, layer: Layer) -> None:
    longest = MAX_CHARS + HEADING_CHARS

    assert all(len(chunk.searchable) <= longest for chunk in chunk_document(document(body, layer)))


@given(BODIES, LAYERS)
def test_chunk_ids_are_unique_and_the_same_again(body: str, layer: Layer) -> None:
    def ids(chunks: tuple[Chunk, ...]) -> list[str]:
        return [chunk.id for chunk in chunks]

    first = ids(chunk_document(document(body, layer)))

    assert len(set(first)) == len(first)
    assert ids(chunk_document(document(body, layer))) == first


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n`~", exclude_categories=["Cs"]), max_size=300), max_size=40)
)
def test_a_code_block_is_cut_between_lines_only(code: list[str]) -> None:
    body = "Before.\n\n```\n" + "".join(line + "\n" for line in code) + "```\n"

    chunks = chunk_document(document(body))

    assert all(chunk.text.endswith("\n") for chunk in chunks)


@given(BODIES)
def test_split_lines_loses_nothing_and_breaks_where_editors_do(text: str) -> None:
    lines = split_lines(text)

    assert "".join(lines) == text
    assert [line.rstrip("\r\n") for line in lines] == re.split(r"\r\n|\n|\r", text)[: len(lines)]


def test_footnote_definitions_are_neither_embedded_nor_indexed() -> None:
    body = "It listens on 2525.[^p]\n\n[^p]: session 1a2b, entry 3c4d\n\n    > second paragraph\n\nAfter it.\n"

    found = searchable(body)

    assert "2525" in found
    assert "After it." in found
    assert "1a2b" not in found
    assert "second paragraph" not in found


@pytest.mark.parametrize(
    "body",
    [
        "It opens at six. <!-- not for readers --> Come early.",
        "It opens at six. %%nor this%% Come early.",
        "<!-- not\n\nfor readers -->\n\nIt opens at six.",
        "%%\nnot for readers\n\n- nor this\n%%\n\nIt opens at six.",
        "- It opens at six. %%not\n  for readers%%\n- Come early.",
    ],
)
def test_comments_are_not_searchable(body: str) -> None:
    found = searchable(body)

    assert "It opens at six." in found
    assert not {"not", "nor", "readers", "%%", "<!--", "-->"} & set(found.split())


@pytest.mark.parametrize(
    "body",
    [
        "```html\n<!-- kept -->\n```",
        "Write `<!-- kept -->` or `%%kept%%`.",
        "```python\n%%time\nkept()\n%%bash\n```",
        "Of 50%% of them 20%% are kept.",
        "An open <!-- is kept.",
    ],
)
def test_what_looks_like_a_comment_in_code_or_numbers_is_kept(body: str) -> None:
    assert "kept" in searchable(body)


def test_code_written_in_one_line_of_backticks_opens_no_block() -> None:
    body = "```inline``` code.\n\n[^p]: session 1a2b\n"

    assert "1a2b" not in searchable(body)


def test_a_fence_with_a_language_inside_a_fence_does_not_close_it() -> None:
    body = "````\n```python\n[^p]: shown as code\n```\n````\n"

    assert "shown as code" in searchable(body)


def test_generated_pointers_are_not_searchable() -> None:
    body = f"# Memory\n\nMine.\n\n{POINTERS_BEGIN}\n- [Mail](topics/mail.md): the relay\n{POINTERS_END}\n\nBelow.\n"

    assert "relay" not in searchable(body)
    assert "Mine." in searchable(body)
    assert "Below." in searchable(body)


def test_a_chunk_knows_the_headings_above_it() -> None:
    body = f"# Mail\n\n## Relay\n\n{'The relay. ' * 60}\n\n### Ports\n\n2525\n\n## Queue\n\nOne a host.\n"

    headings = [chunk.headings for chunk in chunk_document(document(body))]

    assert headings == [("Mail", "Relay"), ("Mail", "Relay", "Ports"), ("Mail", "Queue")]


def test_a_very_long_heading_and_a_row_of_headings_are_cut_like_text() -> None:
    long_heading = "x" * 5_000 + "\nTitle\n=====\n"
    many_headings = "".join(f"## Heading {number}\n" for number in range(500))

    for body in (long_heading, many_headings):
        assert max(len(chunk.text) for chunk in chunk_document(document(body))) <= MAX_CHARS + HEADING_CHARS


def test_a_topic_gives_a_chunk_a_statement_without_its_footnote() -> None:
    body = """# Mail

## Relay

- The relay listens on port 2525.[^1]
  - Its queue is kept for a day.
- Logs go to `/var/log/mail`.[^2]

Restart it by hand:

```
systemctl restart relay
```

---
[^1]: you, 2026-03-01, session 5f0c2a9e
[^2]: you, 2026-03-02, session 5f0c2a9e
"""

    chunks = chunk_document(document(body))

    assert [(str(chunk.lines), chunk.searchable, chunk.headings) for chunk in chunks if chunk.searchable] == [
        ("5-6", "The relay listens on port 2525.\n  - Its queue is kept for a day.", ("Mail", "Relay")),
        ("7", "Logs go to `/var/log/mail`.", ("Mail", "Relay")),
        ("9-13", "Restart it by hand:\n\n```\nsystemctl restart relay\n```", ("Mail", "Relay")),
    ]


def test_a_rule_with_words_below_it_is_text() -> None:
    assert "---" in searchable("Above.\n\n---\n\nBelow.\n\n[^1]: you, 2026-03-01\n")


def test_a_reference_cuts_its_sections_to_a_size() -> None:
    body = "# Mail\n\n- The relay listens on port 2525.\n- Logs go to a file.\n"

    assert len(chunk_document(document(body, Layer.REFERENCE))) == 1


def test_a_session_gives_a_chunk_a_line() -> None:
    body = "## Decisions\n\n- The relay moves to 2526. [e:1a2b3c4d]\n- The queue stays. [e:1a2b3c4e]\n"

    chunks = chunk_document(document(body, Layer.SESSION, body_line=10))

    assert [(str(chunk.lines), chunk.searchable) for chunk in chunks if chunk.searchable] == [
        ("12", "The relay moves to 2526. [e:1a2b3c4d]"),
        ("13", "The queue stays. [e:1a2b3c4e]"),
    ]


@pytest.mark.parametrize("body", ["", "\n", "\r\n\r\n", " \t\n"])
def test_a_body_without_text_has_nothing_to_search(body: str) -> None:
    assert [chunk.searchable for chunk in chunk_document(document(body)) if chunk.searchable] == []


def test_code_lines_are_those_of_fenced_and_indented_blocks() -> None:
    assert code_lines("a\n\n```\nb\n```\n\n    c\nd\n") == {2, 3, 4, 6}
