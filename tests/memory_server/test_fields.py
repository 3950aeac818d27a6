"""The table of filters: what each row lets through, and that every place which knows filters was made of it."""

import dataclasses
import datetime as dt
from pathlib import Path

import pytest

from memory_server.document import Layer, SourceHead, SourcePath
from memory_server.faces.rest import QuestionBody
from memory_server.fields import BY_NAME, FIELDS, NO_FILTER, Filter
from memory_server.search.question import build_filter
from oneiros.cli.searching import SYNTAX, filter_option

MAIL = SourceHead(
    SourcePath("topics/ops/Mail.md"),
    Layer.TOPIC,
    "Mail",
    date=dt.date(2026, 3, 7),
    kind="semantic",
    project="Übersee",
    machine="laptop",
    agent="claude",
    branch="fix/Relay",
    namespace="Decisions/mail",
    tags=("dns", "relay"),
    entities=("mail relay",),
)


@pytest.mark.parametrize(
    ("name", "value", "is_allowed"),
    [
        ("layer", "Topics", True),
        ("layer", "session", False),
        ("topic", "ops/mail", True),
        ("topic", "topics/ops/mail.md", True),
        ("topic", "mail", False),
        ("project", "ÜBERSEE", True),
        ("project", "über", False),
        ("machine", "laptop", True),
        ("agent", "codex", False),
        ("branch", "fix/relay", True),
        ("branch", "fix", False),
        ("namespace", "decisions", True),
        ("namespace", "/decisions/mail/", True),
        ("namespace", "decision", False),
        ("type", "Semantic", True),
        ("tag", "DNS", True),
        ("tag", "dn", False),
        ("entity", "Mail Relay", True),
        ("after", "2026-03-07", True),
        ("after", "2026-04", False),
        ("before", "2026-03-07", False),
        ("before", "2027", True),
        ("as_of", "2020", True),
    ],
)
def test_a_filter_lets_a_source_through_by_its_column(name: str, value: str, is_allowed: bool) -> None:
    assert build_filter({name: [value]}).find_allowed({7: MAIL}) == ({7} if is_allowed else set())


def test_values_of_one_filter_are_alternatives_and_filters_must_all_fit() -> None:
    assert build_filter({"tag": ["ipv6", "dns"], "layer": ["topic"]}).find_allowed({7: MAIL}) == {7}
    assert build_filter({"tag": ["dns"], "layer": ["session"]}).find_allowed({7: MAIL}) == set()
    assert NO_FILTER.find_allowed({7: MAIL}) == {7}


def test_a_source_without_a_day_lies_in_no_time() -> None:
    undated = dataclasses.replace(MAIL, date=None)

    assert build_filter({"after": ["2026"]}).find_allowed({7: undated}) == set()
    assert build_filter({"before": ["2027"]}).find_allowed({7: undated}) == set()


def test_every_filter_has_a_column_a_key_an_option_and_a_line_of_help() -> None:
    columns = {one.name for one in dataclasses.fields(SourceHead)}

    assert [field.plural for field in FIELDS] == [one.name for one in dataclasses.fields(Filter)]
    assert {field.column for field in FIELDS} <= columns
    assert {field.key for field in FIELDS} <= QuestionBody.model_fields.keys()
    assert {filter_option(field).name for field in FIELDS} == BY_NAME.keys()
    assert all(field.help and field.help in (filter_option(field).help or "") for field in FIELDS)
    assert [field.name for field in FIELDS if f"{field.name}:{field.example}" not in SYNTAX] == []


def test_the_page_of_commands_names_every_filter() -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")

    assert [field.name for field in FIELDS if f"`{field.name}:" not in page] == []
