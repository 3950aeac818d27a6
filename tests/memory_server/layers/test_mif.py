import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.errors import ContentError
from memory_server.layers.mif import (
    Value,
    camel_case,
    new_frontmatter,
    parse_frontmatter,
    scalar,
    set_field,
    valid_frontmatter,
)

TOPIC = """---
id: 0b9e8d0a-5f55-4c3e-9c6e-7d1f6a1b2c3d
type: semantic          # how it is meant
created: 2026-03-01
temporal:
  valid_from: 2026-03-01
  decay: {model: none, half_life: P30D}
tags: [mail,  'relay']
own_key: kept
---

# Mail

The relay listens on port 2525.
"""

WORDS = st.text(max_size=40)
KEYS = st.from_regex(r"[a-z][a-zA-Z0-9]{0,8}", fullmatch=True)
YAML_MARKS = ["\n", ": ", "- ", ", ", "? ", "&x ", "*x", "<<: ", "!!str ", "---\n", "...", "  ", "b_c", "1.10", "on"]
YAML_LIKE = st.lists(st.sampled_from([*YAML_MARKS, *"a:{}[]'\"|>#%@`\t\r\x85\u2028é\x07"]), max_size=40).map("".join)


@given(st.one_of(WORDS, YAML_LIKE.map(lambda text: f"---\n{text}\n---\nbody\r\n")))
def test_block_and_body_joined_are_the_file(text: str) -> None:
    parsed = parse_frontmatter(text)

    assert parsed.block + parsed.body == text


@given(YAML_LIKE)
def test_broken_yaml_is_a_content_error_with_a_line_of_the_file(source: str) -> None:
    text = f"---\n{source}\n---\nbody\n"

    try:
        parse_frontmatter(text)
    except ContentError as error:
        assert 1 <= (error.line or 0) <= 2 + len(text.splitlines())
        assert "\n" not in error.what


@given(
    WORDS, st.sampled_from(["modified", "created", "temporal.validUntil", "temporal.validFrom", "summary", "ownKey"])
)
def test_setting_a_field_changes_only_its_value(value: str, key: str) -> None:
    before = parse_frontmatter(TOPIC)

    after = parse_frontmatter(set_field(TOPIC, key, value))

    top, _, below = key.partition(".")
    assert after.body == before.body
    assert {name: field for name, field in after.fields.items() if name != top} == {
        name: field for name, field in before.fields.items() if name != top
    }
    field = after.fields[top]
    assert (field[below] if below else field) == value  # type: ignore[index, call-overload]  # a mapping where below


@given(st.dictionaries(KEYS, st.one_of(WORDS, st.lists(WORDS, max_size=4)), min_size=1, max_size=6))
def test_a_new_frontmatter_reads_back_as_written(fields: dict[str, str | list[str]]) -> None:
    block = new_frontmatter(fields)

    parsed = parse_frontmatter(block + "body\n")

    assert (dict(parsed.fields), parsed.body) == (fields, "body\n")


@given(st.dictionaries(KEYS, WORDS, min_size=1, max_size=5), st.data())
def test_setting_a_field_touches_no_other_line(fields: dict[str, str], data: st.DataObject) -> None:
    text = new_frontmatter(fields) + "# Body\n"
    key = data.draw(st.sampled_from(sorted(fields)))
    value = data.draw(WORDS)

    changed = set_field(text, key, value)

    place = list(fields).index(key) + 1
    assert changed.split("\n")[:place] == text.split("\n")[:place]
    assert changed.split("\n")[place + 1 :] == text.split("\n")[place + 1 :]
    assert parse_frontmatter(changed).text(key) == value


def test_a_changed_field_leaves_comments_quotes_and_blanks_as_they_were() -> None:
    changed = set_field(TOPIC, "type", "episodic")

    assert changed == TOPIC.replace("type: semantic ", "type: episodic ")


def test_older_keys_are_read_in_camel_case() -> None:
    parsed = parse_frontmatter(TOPIC)

    assert parsed.fields["temporal"] == {"validFrom": "2026-03-01", "decay": {"model": "none", "halfLife": "P30D"}}
    assert parsed.lines["temporal.decay.halfLife"] == 7


def test_a_changed_field_is_written_in_camel_case() -> None:
    changed = set_field(TOPIC, "temporal.validFrom", "2026-04-01")

    assert changed == TOPIC.replace("valid_from: 2026-03-01", "validFrom: 2026-04-01")


def test_keys_below_extensions_are_left_as_they_are_at_any_depth() -> None:
    parsed = parse_frontmatter("---\nextensions:\n  other_tool:\n    its_key: 1\n---\n")

    assert parsed.fields["extensions"] == {"other_tool": {"its_key": "1"}}


def test_scalars_stay_text() -> None:
    parsed = parse_frontmatter("---\nversion: 1.10\non: yes\ncreated: 2026-03-01\nempty:\n---\n")

    assert dict(parsed.fields) == {"version": "1.10", "on": "yes", "created": "2026-03-01", "empty": ""}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_any_line_ending_and_a_byte_order_mark_are_read(newline: str, mark: str) -> None:
    text = mark + TOPIC.replace("\n", newline)

    parsed = parse_frontmatter(text)

    assert parsed.text("id").startswith("0b9e")
    assert (parsed.body_line, parsed.lines["ownKey"]) == (11, 9)
    assert parsed.block + parsed.body == text
    assert set_field(text, "id", "new") == text.replace("0b9e8d0a-5f55-4c3e-9c6e-7d1f6a1b2c3d", "new")


def test_a_byte_order_mark_is_no_text() -> None:
    assert parse_frontmatter("\ufeff# Relay\n").body == "# Relay\n"


def test_a_line_separator_inside_a_value_does_not_shift_the_line_numbers() -> None:
    parsed = parse_frontmatter("---\ntitle: 'a\u2028\n  b'\ntype: semantic\n---\n")

    assert parsed.lines["type"] == 4


@pytest.mark.parametrize(
    ("source", "line", "what"),
    [
        ("title: a\ntitle: b", 3, "twice"),
        ("valid_from: a\nvalidFrom: b", 3, "twice"),
        ("a: [1, 2", 3, "YAML"),
        ("a: 1\nb: @x", 3, "YAML"),
        ("a: &x [*x]", 2, "contains itself"),
        ("'a: b'", 2, "not a list of"),
        ("a: \x07", 2, "character"),
        ("{[a, b]: c}", 2, "key"),
        ("a: " + "[" * 60 + "]" * 60, 2, "too much"),
        ("a: " + "[" * 40_000, 2, "YAML"),
        ("a: 1\nx: *unknown", 3, "YAML"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(source: str, line: int, what: str) -> None:
    with pytest.raises(ContentError, match=what) as raised:
        valid_frontmatter(f"---\n{source}\n---\n")

    assert raised.value.line == line


def test_aliases_of_aliases_do_not_fill_the_memory() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{depth}: &a{depth} [{', '.join([f'*a{depth - 1}'] * 10)}]\n" for depth in range(1, 12)
    )

    with pytest.raises(ContentError, match="too much"):
        valid_frontmatter(f"---\n{bomb}---\n")


def test_a_field_that_shares_its_value_by_an_alias_is_not_set() -> None:
    text = "---\ncreated: &day 2026-03-01\nmodified: *day\n---\n"

    with pytest.raises(ContentError):
        set_field(text, "modified", "2026-04-01")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("temporal: {validFrom: 2026-01-01}", "temporal: {validFrom: 2026-01-01, validUntil: 2026-05-01}"),
        ("temporal: {}", "temporal: {validUntil: 2026-05-01}"),
        ("temporal:\n  ttl: P1D\nid: x", "temporal:\n  ttl: P1D\n  validUntil: 2026-05-01\nid: x"),
        ("id: x", "id: x\ntemporal:\n  validUntil: 2026-05-01"),
        ("temporal:\n  validUntil: |\n    old\nid: x", "temporal:\n  validUntil: 2026-05-01\nid: x"),
        ("temporal:\n  validUntil:\nid: x", "temporal:\n  validUntil: 2026-05-01\nid: x"),
    ],
)
def test_a_nested_field_is_set_or_added_in_the_style_of_its_block(before: str, after: str) -> None:
    changed = set_field(f"---\n{before}\n---\nbody", "temporal.validUntil", "2026-05-01")

    assert changed == f"---\n{after}\n---\nbody"


def test_plain_markdown_has_no_frontmatter_and_takes_no_field() -> None:
    assert parse_frontmatter("# Mail\n\n---\n").fields == {}
    with pytest.raises(ContentError, match="no frontmatter"):
        set_field("# Mail\n", "modified", "2026-01-01")


@pytest.mark.parametrize(
    "text",
    [
        "---\nSome text below a rule.\n",
        "---\n# A title below a rule\n",
        "---\n# A title between rules\n\n---\nText.\n",
        "---\n- an item\n---\n",
        "---\n",
        "---\n\n# A title\n\nNote: this is text.\n",
    ],
)
def test_text_below_a_rule_is_text(text: str) -> None:
    assert parse_frontmatter(text).body == text


def test_a_frontmatter_that_never_ends_is_an_error() -> None:
    with pytest.raises(ContentError, match="never closed"):
        valid_frontmatter("---\ntitle: Mail\n\nText.\n")


@pytest.mark.parametrize("word", ["true", "No", "null", "on", "- a", "a: b", "#", "", " a", "[x]", "é", "a\nb"])
def test_a_text_that_yaml_would_take_for_something_else_is_quoted(word: str) -> None:
    assert scalar(word).startswith('"')


def test_dates_come_from_dates_and_timestamps() -> None:
    parsed = parse_frontmatter("---\nmodified: soon\ncreated: 2026-03-01T10:00:00Z\n---\n")

    assert parsed.date("modified", "created") == dt.date(2026, 3, 1)


@pytest.mark.parametrize(("key", "named"), [("valid_from", "validFrom"), ("@type", "@type"), ("_own", "_own")])
def test_only_an_underscore_between_letters_makes_a_hump(key: str, named: str) -> None:
    assert camel_case(key) == named


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        ("title: Mail: the relay\nproject: shop\n", {"title": "Mail: the relay", "project": "shop"}),
        ("title:\tMail\n\tproject:\tshop\n", {"title": "Mail", "project": "shop"}),
        ("title: a\nproject: shop\ntitle: b\n", {"title": "b", "project": "shop"}),
        ("  title: a: b\n  project: shop\n", {"title": "a: b", "project": "shop"}),
        ("tags: [a, b\nproject: shop\n", {"tags": "[a, b", "project": "shop"}),
        ("title: @mail\ntags:\n- a\n- b\n", {"title": "@mail", "tags": ["a", "b"]}),
        (
            "title: 'Mail\ntemporal:\n\tvalidUntil: 2026-04-01\n",
            {"title": "Mail", "temporal": {"validUntil": "2026-04-01"}},
        ),
        (
            "description: Use this: when\n  asked\nx: |\n  a: b\n",
            {"description": "Use this: when asked", "x": "a: b\n"},
        ),
        ("title: a\n? no key\n*x: y\n", {"title": "a ? no key *x: y"}),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_broken_head_is_read_key_by_key_and_says_why(newline: str, head: str, fields: dict[str, Value]) -> None:
    text = f"---\n{head}---\n# Body\n".replace("\n", newline)

    parsed = parse_frontmatter(text)

    assert dict(parsed.fields) == fields
    assert parsed.fault is not None and parsed.fault.line
    assert parsed.block + parsed.body == text and parsed.body == f"# Body{newline}"
    assert parsed.body_line == 3 + head.count("\n")


@pytest.mark.parametrize("body", ["\n# Body\n\ntext: more\n", "# Body\n"])
def test_a_head_that_never_ends_ends_where_the_text_begins(body: str) -> None:
    parsed = parse_frontmatter(f"---\ntitle: Mail\nproject: shop\n{body}")

    assert (dict(parsed.fields), parsed.body) == ({"title": "Mail", "project": "shop"}, body)
    assert parsed.fault is not None


@given(st.text(alphabet=st.sampled_from("ab:-[]{}\"'\t\n\r# |>&*@"), max_size=60))
def test_no_head_keeps_a_body_from_being_read(head: str) -> None:
    text = f"---\n{head}\n---\nthe body\n"

    parsed = parse_frontmatter(text)

    assert parsed.block + parsed.body == text and parsed.body.endswith("the body\n")


def test_a_broken_head_is_never_written() -> None:
    with pytest.raises(ContentError, match="YAML"):
        set_field("---\ntitle: a: b\n---\n", "title", "c")


TOML_HEAD = """\
+++
title = "Tides"
tags = ["sea", "moon"]
date = 2026-03-01
draft = false
[extra]
valid_from = "x"
+++

Text.
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_head_in_toml_is_read(newline: str, mark: str) -> None:
    parsed = parse_frontmatter(mark + TOML_HEAD.replace("\n", newline))

    assert (parsed.text("title"), parsed.texts("tags"), parsed.date("date")) == (
        "Tides",
        ("sea", "moon"),
        dt.date(2026, 3, 1),
    )
    assert (parsed.text("draft"), parsed.fields["extra"]) == ("false", {"validFrom": "x"})
    assert (parsed.body.strip(), parsed.fault, parsed.lines["title"]) == ("Text.", None, 2)


def test_a_key_of_a_head_in_toml_is_set_and_nothing_else_changes() -> None:
    changed = set_field(TOML_HEAD, "title", 'Low "tides"')

    assert changed == TOML_HEAD.replace('"Tides"', '"Low \\"tides\\""')
    with pytest.raises(ContentError, match="cannot be set in a head of TOML"):
        set_field(TOML_HEAD, "modified", "2026-03-02")


def test_a_head_in_toml_that_is_broken_says_so_and_hides_no_text() -> None:
    parsed = parse_frontmatter("+++\ntitle = Tides\n+++\n\nText.\n")

    assert parsed.body.strip() == "Text."
    assert parsed.fault is not None and "not valid TOML" in parsed.fault.what
