import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.chunking import chunk_document
from memory_server.document import Document, Layer, SourcePath
from memory_server.embedding.vector_cache import text_hash
from memory_server.errors import UsageError
from memory_server.index.expression import AllOf, AnyOf, Expression, Not, Term, fts_query, is_identifier, quoted
from memory_server.index.keywords import SqliteKeywords
from memory_server.index.ledger import Ledger, SourceState
from memory_server.search.literal import Where, find_literal, holds
from memory_server.search.query import MAX_DEPTH, parse_query

TERMS = st.builds(Term, st.text(min_size=1, max_size=30), st.booleans(), st.booleans())
EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map(lambda parts: AllOf(tuple(parts))),
        st.lists(inner, min_size=1, max_size=4).map(lambda parts: AnyOf(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=8,
)
PASSAGES = [
    "The relay listens on port 2525, see app.py:12 and --dry-run.",
    "fooBar calls foo-bar in src/oneiros/daemon.py of v1.2.3.",
    "C++ and C differ; 10.0.0.7 is not 10.0.0.70. AND OR NOT",
    "東京都のサーバー",
    'He said "mail relay" and (left) col:umn ^caret *star {brace}',
]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """A ledger in which every passage is a source of its own, numbered from 1."""
    ledger = Ledger(tmp_path_factory.mktemp("root") / "ledger.db")
    with ledger.transaction():
        for number, passage in enumerate(PASSAGES, start=1):
            document = Document(SourcePath(f"topics/{number}.md"), Layer.TOPIC, "", body=passage)
            chunks = chunk_document(document)
            state = SourceState(document.path, len(passage), 0, "")
            ledger.put_source(document, state, chunks, [text_hash(chunk.searchable) for chunk in chunks])
    yield ledger.connection
    ledger.close()


def found(connection: sqlite3.Connection, query: str) -> list[int]:
    matches = find_literal(Where(SqliteKeywords(connection), None), parse_query(query).expression, limit=10)
    return sorted(match.source for match in matches)


def accepts(connection: sqlite3.Connection, query: str) -> bool:
    """Whether the keyword index takes a query as one of its grammar."""
    try:
        connection.execute("select rowid from words where words match ?", (query,)).fetchall()
    except sqlite3.OperationalError:
        return False
    return True


def test_a_query_outside_the_grammar_is_not_accepted_by_the_index(connection: sqlite3.Connection) -> None:
    assert not accepts(connection, "relay AND (")


@given(EXPRESSIONS, st.booleans())
def test_any_expression_is_accepted_by_the_index(
    connection: sqlite3.Connection, expression: Expression, as_prefix: bool
) -> None:
    query = fts_query(expression, as_prefix=as_prefix)

    assert not query or accepts(connection, query)


@given(st.text(max_size=200))
def test_any_typed_text_is_answered(connection: sqlite3.Connection, text: str) -> None:
    try:
        expression = parse_query(text).expression
    except UsageError:
        return

    for match in find_literal(Where(SqliteKeywords(connection), None), expression, limit=5):
        assert match.is_spread or holds(expression, f"\n{PASSAGES[match.source - 1]}")  # or in its path or frontmatter


@given(st.text(max_size=60))
def test_a_quoted_text_is_one_string_for_the_index(connection: sqlite3.Connection, text: str) -> None:
    assert quoted(text).count('"') % 2 == 0
    assert accepts(connection, quoted(text))


def test_the_deepest_query_is_accepted_by_the_index(connection: sqlite3.Connection) -> None:
    opening = "".join(f"a{depth} b OR NOT y c (" for depth in range(MAX_DEPTH))
    expression = parse_query(f"{opening}z NOT x{')' * MAX_DEPTH}").expression

    assert accepts(connection, fts_query(expression))


@pytest.mark.parametrize("operator", [" ", " OR ", " NOT "])
def test_the_longest_query_is_accepted_by_the_index(connection: sqlite3.Connection, operator: str) -> None:
    expression = parse_query(operator.join(f"w{number}" for number in range(2_000))).expression

    assert accepts(connection, fts_query(expression))


@pytest.mark.parametrize(
    ("query", "sources"),
    [
        ("relay port", [1]),
        ("app.py:12", [1]),
        ('"app py 12"', [1]),
        ("--dry-run", [1]),
        ("foo-bar", [2]),
        ("foobar", [2]),
        ("src/oneiros/daemon.py", [2]),
        ("1.2.3", [2]),
        ("C++", [3]),
        ("10.0.0.70", [3]),
        ("東京", [4]),
        ("京都", [4]),
        ('"mail relay"', [5]),
        ('"relay mail"', []),
        ("relay", [1, 5]),
        ("relay NOT port", [5]),
        ("relay NOT mail", [1]),
        ("rel*", [1, 5]),
        ("2525 OR C++", [1, 3]),
        ("col:umn", [5]),
        ("neiros/daem", [2]),
        ("neiros/daem NOT some/other/identifier", [2]),
        ("relay elephant", []),
    ],
)
def test_every_word_must_occur_and_identifiers_letter_by_letter(
    connection: sqlite3.Connection, query: str, sources: list[int]
) -> None:
    assert found(connection, query) == sources


@pytest.mark.parametrize(
    ("text", "answer"),
    [("relay", False), ("relay.", False), ("app.py", True), ("--flag", True), ("C++", True), ("東京", True)],
)
def test_an_identifier_is_what_holds_marks_or_has_no_blanks(text: str, answer: bool) -> None:
    assert is_identifier(Term(text)) is answer
