import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.document import Layer
from memory_server.errors import UsageError
from memory_server.fields import Filter
from memory_server.index.expression import AllOf, AnyOf, Expression, Not, Term
from memory_server.search.question import MAX_QUERY_CHARS, Question, clean, parse_query

PARTS = ["AND", "OR", "NOT", "(", ")", '"', "*", "layer:topic", "after:2026", "topic:mail", "type:", "relay", "c++"]
TYPED = st.one_of(
    st.text(max_size=100),
    st.lists(st.sampled_from([*PARTS, *":^-+{}\0\ud800,.'"]), max_size=20).map(" ".join),
    st.lists(st.sampled_from([*PARTS, " "]), max_size=20).map("".join),
)


def terms_of(expression: Expression) -> list[Term]:
    if isinstance(expression, Term):
        return [expression]
    parts = (expression.part,) if isinstance(expression, Not) else expression.parts
    return [term for part in parts for term in terms_of(part)]


@given(TYPED)
def test_any_text_is_a_query_or_a_usage_error(text: str) -> None:
    try:
        query = parse_query(text)
    except UsageError:
        return

    assert query.text.strip()
    assert query.terms()


@given(TYPED)
def test_every_term_was_typed(text: str) -> None:
    try:
        query = parse_query(text)
    except UsageError:
        return

    typed = clean(text)
    assert all(term.text and term.text in typed for term in terms_of(query.expression))


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("relay port", AllOf((Term("relay"), Term("port")))),
        ("relay AND port", AllOf((Term("relay"), Term("port")))),
        ("a OR b c", AnyOf((Term("a"), AllOf((Term("b"), Term("c")))))),
        ("(a OR b) c", AllOf((AnyOf((Term("a"), Term("b"))), Term("c")))),
        ("a NOT b", AllOf((Term("a"), Not(Term("b"))))),
        ('"mail relay" po*', AllOf((Term("mail relay", is_phrase=True), Term("po", is_prefix=True)))),
        ('"mail re"*', Term("mail re", is_phrase=True, is_prefix=True)),
        ("a and or not b", AllOf((Term("a"), Term("and"), Term("or"), Term("not"), Term("b")))),
        ("foo(bar) f()", AllOf((Term("foo(bar)"), Term("f()")))),
        ("http://x error: y", AllOf((Term("http://x"), Term("error:"), Term("y")))),
        ('"never closed', AllOf((Term("never"), Term("closed")))),
        ("a AND", Term("a")),
        ("OR a OR", Term("a")),
        (") a (", Term("a")),
        ("NOT", Term("NOT")),
        ("C++ --flag app.py:12", AllOf((Term("C++"), Term("--flag"), Term("app.py:12")))),
    ],
)
def test_the_syntax_is_read_as_documented(text: str, expression: Expression) -> None:
    assert parse_query(text).expression == expression


@pytest.mark.parametrize(
    ("typed", "allowed"),
    [
        ("layer:topic", Filter(layers=(Layer.TOPIC,))),
        ("layer:topics layer:session", Filter(layers=(Layer.TOPIC, Layer.SESSION))),
        ("topic:Mail", Filter(topics=("mail",))),
        ('project:"my shop"', Filter(projects=("my shop",))),
        ("machine:Laptop type:semantic tag:DNS", Filter(machines=("laptop",), kinds=("semantic",), tags=("dns",))),
        ("after:2026-03 before:2027", Filter(after=dt.date(2026, 3, 1), before=dt.date(2027, 1, 1))),
    ],
)
def test_filters_are_taken_out_of_the_question(typed: str, allowed: Filter) -> None:
    query = parse_query(f"relay {typed} port")

    assert (query.filter, query.text) == (allowed, "relay port")


def test_what_is_behind_not_is_no_part_of_the_embedded_text() -> None:
    query = parse_query("relay NOT (old port)")

    assert query.text == "relay"
    assert query.list_excluded() == (Term("old"), Term("port"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "empty"),
        ("  \0\x07 ", "empty"),
        ("layer:cellar x", "no layer 'cellar'"),
        ("after:soon x", "no date"),
        ("before:2026-13 x", "no date"),
        ("layer:topic", "no word"),
        ("( ) AND", "no word"),
        ("NOT old", "no word"),
        ("(" * 60 + "a", "brackets"),
    ],
)
def test_a_query_that_cannot_be_used_says_why(text: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        parse_query(text)


def test_a_very_long_query_is_cut_and_says_so() -> None:
    query: Question = parse_query("relay " * 50_000)

    assert query.is_cut
    assert len(query.text) <= MAX_QUERY_CHARS
    assert not parse_query("relay").is_cut
