import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_server.chunking import POINTERS_BEGIN, POINTERS_END
from memory_server.errors import Problem
from memory_server.layers.index_page import write_index_page
from memory_server.layers.validate import ValidationRule, validate_root
from memory_server.root.paths import MemoryRoot
from memory_server.settings import MemorySettings
from tests.memories import root_at

HEAD = "id: 0b9e8d0a-5f55-4c3e-9c6e-7d1f6a1b2c3d\ntype: semantic\ncreated: 2026-03-01\n"


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    """A sound memory with one topic."""
    root = root_at(tmp_path)
    write(root, "topics/mail.md", f"---\n{HEAD}---\n# Mail\n\nThe relay listens on port 2525.\n")
    write_index_page(root, MemorySettings())
    return root


def write(root: MemoryRoot, path: str, text: str | bytes) -> None:
    file = root.path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)


def problems(root: MemoryRoot) -> list[Problem]:
    return validate_root(root, MemorySettings())


def found(root: MemoryRoot) -> list[tuple[str, int, str]]:
    return [(problem.path, problem.line, problem.rule) for problem in problems(root)]


def test_a_sound_memory_has_no_problem(root: MemoryRoot) -> None:
    assert problems(root) == []


def test_plain_markdown_is_a_sound_topic(root: MemoryRoot) -> None:
    write(root, "topics/mail.md", "Just text, no heading.\n")

    assert problems(root) == []


FULL = """title: Mail relay
modified: 2026-03-02T10:00:00+01:00
namespace: shop/_semantic
tags: [mail, dns]
aliases:
  - relay
own_key: anything
temporal:
  validFrom: 2026-03-01
  validUntil: 2026-12-31T23:59:59Z
  ttl: P90D
  decay: {model: exponential, halfLife: P7D, currentStrength: 0.9}
  accessCount: 3
provenance:
  sourceType: user_explicit
  confidence: 0.95
  trustLevel: verified
  its_own: kept
embedding: {model: bge, dimensions: 384, normalized: true}
citations:
  - "@type": Citation
    citationType: documentation
    citationRole: supports
    title: The manual
    url: https://example.org
relationships:
  - type: relates-to
    target: topics/mail.md
    strength: 0.5
documents:
  - "@type": DocumentReference
    url: https://example.org
properties: {port: 2525}
extensions: {tool: {deep: [1, 2]}}
summary: The relay.
"""

OLDER = """title: Mail relay
temporal: {valid_from: 2026-03-01, decay: {model: none, half_life: P7D, strength: 1.0}, access_count: 0}
provenance: {source_type: conversation, confidence: 1, session_id: x}
code_refs: [{file: a.py, line: 3, symbol: f, type: function}]
citations: [{type: documentation, title: a, url: b, accessed: 2026-03-01, relevance: 0.9}]
conflicts: [{memory_id: x, resolution: merged}]
relationships: [{type: relates_to, target: some-slug, label: beside}]
compressed_at: 2026-03-01
"""


@pytest.mark.parametrize("fields", [HEAD + FULL, HEAD + OLDER, HEAD.replace("0b9e8d0a-", "mail-relay-")])
def test_all_fields_of_both_versions_are_sound(root: MemoryRoot, fields: str) -> None:
    write(root, "topics/mail.md", f"---\n{fields}---\n# Mail\n")
    write_index_page(root, MemorySettings())

    assert problems(root) == []


@pytest.mark.parametrize(
    ("fields", "line", "rule", "what"),
    [
        ("type: semantic\ncreated: 2026-03-01", 1, "field-missing", "the frontmatter has no id"),
        (HEAD.replace("semantic", "Semantic"), 3, "field-value", "type is 'Semantic', not semantic, episodic or"),
        (HEAD.replace("0b9e8d0a", "0b9e8d0"), 2, "field-value", "id is '0b9e8d0-"),
        (HEAD.replace("0b9e8d0a", "a b"), 2, "field-value", "not a UUID"),
        (HEAD.replace("2026-03-01", "2026-02-31"), 4, "field-value", "created is '2026-02-31', not a date"),
        (HEAD.replace("2026-03-01", "soon"), 4, "field-value", "created is 'soon', not a date"),
        (HEAD.replace("2026-03-01", ""), 4, "field-value", "created is empty, not a date"),
        (f"{HEAD}summary: {'x' * 501}", 5, "field-value", "not a text of at most 500 characters"),
        (f"{HEAD}namespace: a b", 5, "field-value", "namespace is 'a b'"),
        (f"{HEAD}tags: {{a: b}}", 5, "field-value", "tags is a mapping, not a list of texts"),
        (f"{HEAD}temporal:\n  valid_to: 2026-01-01", 6, "field-unknown", "temporal has a field 'validTo'"),
        (f"{HEAD}temporal:\n  ttl: 7 days", 6, "field-value", "temporal.ttl is '7 days', not a duration"),
        (
            f"{HEAD}provenance:\n  confidence: 1.2",
            6,
            "field-value",
            "provenance.confidence is '1.2', not a number from",
        ),
        (f"{HEAD}provenance:\n  sourceType: guess", 6, "field-value", "not user_explicit"),
        (f"{HEAD}embedding: {{size: 3}}", 5, "field-unknown", "embedding has a field 'size'"),
        (f"{HEAD}citations: [{{type: weird, title: a, url: b}}]", 5, "field-value", "'weird', not article, book"),
        (f"{HEAD}citations: [{{type: tool, title: a, url: b, relevance: 7}}]", 5, "field-value", "'7', not a number"),
        (f"{HEAD}citations:\n  - title: a", 6, "field-missing", "citations[0] has no @type"),
        (f"{HEAD}citations:\n  - type: tool\n    title: b\n    url: c\n    x: d", 9, "field-unknown", "field 'x'"),
        (f"{HEAD}relationships:\n  - type: a\n    target: b\n  - type: A b\n    target: c", 8, "field-value", "'A b'"),
        (f"{HEAD}relationships: [{{type: uses}}]", 5, "field-missing", "relationships[0] has no target"),
        (f"{HEAD}documents: [{{title: a}}]", 5, "field-missing", "documents[0] has no url or id"),
        (f"{HEAD}properties:\n  a: [b]", 6, "field-value", "properties.a is a list, not a text"),
        (f"{HEAD}modified: 2026-02-01", 5, "dates-order", "modified (2026-02-01) is before created (2026-03-01)"),
        (
            f"{HEAD}temporal:\n  validFrom: 2026-05-01\n  validUntil: 2026-04-01",
            7,
            "dates-order",
            "temporal.validUntil (2026-04-01) is before",
        ),
        (
            f"{HEAD}relationships:\n  - type: supersedes\n    target: sessions/gone.md",
            6,
            "supersedes-unknown",
            "it supersedes 'sessions/gone.md'",
        ),
        (f"{HEAD}a: [", 6, "frontmatter", "not valid YAML"),
    ],
)
def test_a_field_that_is_wrong_is_named_with_its_line(
    root: MemoryRoot, fields: str, line: int, rule: str, what: str
) -> None:
    write(root, "topics/mail.md", f"---\n{fields.strip()}\n---\n# Mail\n")
    write_index_page(root, MemorySettings())

    reported = [problem for problem in problems(root) if problem.rule == rule and what in problem.what]

    assert [(problem.path, problem.line) for problem in reported] == [("topics/mail.md", line)]


@pytest.mark.parametrize("target", ["sessions/compressed/2026/s.md", "urn:mif:5E551011", "5e551011", "lessons"])
def test_what_a_topic_supersedes_is_found_by_path_name_or_id(root: MemoryRoot, target: str) -> None:
    write(root, "sessions/compressed/2026/s.md", "---\nid: 5e551011\ntype: episodic\ncreated: 2026-03-01\n---\n")
    write(root, "lessons.md", "# Lessons\n")
    write(
        root, "topics/mail.md", f"---\n{HEAD}relationships: [{{type: supersedes, target: '{target}'}}]\n---\n# Mail\n"
    )

    assert problems(root) == []


def test_what_went_to_the_attic_is_still_what_a_newer_revision_supersedes(root: MemoryRoot) -> None:
    head, target = "type: episodic\ncreated: 2026-03-01", "sessions/compressed/2026/s.md"
    write(root, "sessions/attic/compressed/2026/s.md", f"---\nid: 5e551011\n{head}\n---\n")
    newer = f"id: 5e551012\n{head}\nrelationships: [{{type: supersedes, target: {target}}}]"
    write(root, "sessions/compressed/2026/s-r2.md", f"---\n{newer}\n---\n")

    assert problems(root) == []


def test_two_sources_with_one_id_or_one_name_are_told(root: MemoryRoot) -> None:
    write(root, "topics/post.md", f"---\n{HEAD.upper().replace('ID:', 'id:').splitlines()[0]}\n---\n# Post\n")
    write(root, "topics/MAIL.md", "# Mail\n")
    write_index_page(root, MemorySettings())

    reported = [place for place in found(root) if place[2] in ("id-twice", "name-twice")]

    assert reported == [("topics/mail.md", 1, "name-twice"), ("topics/post.md", 2, "id-twice")]


@pytest.mark.parametrize(
    ("body", "line", "rule"),
    [
        ("A claim.[^1]\n", 1, "footnote-undefined"),
        ("A claim.\n\n[^1]: said so\n", 3, "footnote-unused"),
        ("A claim.[^1]\n\n[^1]: said so\n[^1]: and so\n", 4, "footnote-twice"),
    ],
)
def test_footnotes_and_their_definitions_belong_together(root: MemoryRoot, body: str, line: int, rule: str) -> None:
    write(root, "topics/mail.md", body)

    assert found(root) == [("topics/mail.md", line, rule)]


def test_a_merge_that_was_not_finished_is_told_and_one_that_is_shown_is_not(root: MemoryRoot) -> None:
    open_merge = "<<<<<<< HEAD\nOn port 25.\n=======\nOn port 26.\n>>>>>>> other\n"
    write(root, "topics/mail.md", f"# Mail\n\nIt listens.\n{open_merge}")
    write(root, "topics/git.md", f"So git marks it:\n\n```\n{open_merge}```\n")
    head = "---\nid: 5e551011\ntype: episodic\ncreated: 2026-03-01\n---\n"
    write(root, "sessions/compressed/2026/s.md", f"{head}\n{open_merge}")  # what was said is not judged

    assert [one for one in found(root) if one[0] != "MEMORY.md"] == [("topics/mail.md", 4, "conflict")]


def test_footnote_marks_in_code_are_no_footnotes(root: MemoryRoot) -> None:
    body = "Use `[^1]` or ``[^`2]`` or \\[^3].\n\n```\n[^4]\n```\n\n    [^5]: code\n"
    write(root, "topics/mail.md", body)

    assert problems(root) == []


def test_a_bracket_that_a_pointer_writes_out_is_no_link(root: MemoryRoot) -> None:
    write(root, "topics/dns.md", "# DNS of [hosts](Hosts.md)\n\nIt answers names.\n")

    assert [problem.what for problem in problems(root)] == ["topics/dns.md has no pointer"]


def test_pointers_and_topics_must_agree(root: MemoryRoot) -> None:
    write(root, "topics/dns.md", "# DNS\n")
    page = root.index_page.read_text(encoding="utf-8")
    write(root, "MEMORY.md", page.replace("topics/mail.md", "topics/gone.md"))

    reported = [(problem.line, problem.rule, problem.what) for problem in problems(root)]

    assert reported == [
        (3, "topic-unlisted", "topics/dns.md has no pointer"),
        (3, "topic-unlisted", "topics/mail.md has no pointer"),
        (4, "pointer-dead", "there is no topics/gone.md"),
    ]


def test_a_page_may_name_its_topics_by_hand(root: MemoryRoot) -> None:
    write(
        root, "MEMORY.md", "# Mine\n\nSee [mail](<./topics/mail.md> 'x') and [us](https://example.org/topics/x.md).\n"
    )

    assert problems(root) == []


def test_topics_that_the_limits_leave_out_are_no_problem(root: MemoryRoot) -> None:
    for number in range(300):
        write(root, f"topics/topic-{number}.md", "# A topic\n")
    write_index_page(root, MemorySettings())

    assert problems(root) == []


@pytest.mark.parametrize(
    ("page", "line", "rule"),
    [
        (f"[m](topics/mail.md)\n{POINTERS_BEGIN}\n", 2, "markers"),
        (f"[m](topics/mail.md)\n{POINTERS_END}\n{POINTERS_BEGIN}\n", 3, "markers"),
        ("[m](topics/mail.md)\n" + "x\n" * 200, 201, "index-lines"),
        ("[m](topics/mail.md)\n" + "x" * 25_000, 2, "index-chars"),
    ],
)
def test_what_is_wrong_with_the_index_page_is_named(root: MemoryRoot, page: str, line: int, rule: str) -> None:
    write(root, "MEMORY.md", page)

    assert found(root) == [("MEMORY.md", line, rule)]


def test_a_missing_index_page_is_a_problem(root: MemoryRoot) -> None:
    root.index_page.unlink()

    assert found(root) == [("MEMORY.md", 1, "index-missing")]


def test_files_that_are_not_read_are_told(root: MemoryRoot) -> None:
    write(root, "topics/notes.txt", "x")
    write(root, "topics/deep/Upper.MD", "x")
    write(root, "topics/mail.md~", "what an editor left")
    write(root, "topics/.hidden", "x")
    (root.topics / "link.md").symlink_to(root.topics / "mail.md")
    root.lessons.symlink_to(root.topics / "mail.md")
    os.mkfifo(root.topics / "pipe.md")
    (root.topics / os.fsdecode(b"\xff.md")).write_text("x", encoding="utf-8")

    assert found(root) == [
        ("lessons.md", 1, "symlink"),
        ("topics/\\udcff.md", 1, "file-ignored"),
        ("topics/deep/Upper.MD", 1, "file-ignored"),
        ("topics/link.md", 1, "symlink"),
        ("topics/notes.txt", 1, "file-ignored"),
        ("topics/pipe.md", 1, "file-ignored"),
    ]


def test_settings_that_cannot_be_used_are_a_problem_of_their_file(root: MemoryRoot) -> None:
    write(root, "oneiros.toml", "# mine\nmodle = 'x'\n")

    assert found(root) == [("oneiros.toml", 2, "settings")]


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_no_bytes_end_the_check(root: MemoryRoot, data: st.DataObject) -> None:
    marks = [b"---\n", b"id: ", b"\r", b"\n", b"[^1]", b"[^1]: ", b"```", b"](topics/", b"*x", b"&x ", b"\xff", b"\0"]
    content = st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(marks), max_size=30).map(b"".join))

    for path in ("topics/mail.md", "topics/dns.md", "MEMORY.md", "lessons.md", "oneiros.toml"):
        write(root, path, data.draw(content))

    for problem in problems(root):
        assert problem.rule in [*ValidationRule]
        assert problem.line >= 1
        assert "\n" not in str(problem)
