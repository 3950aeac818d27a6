import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.chunking import chunk_document
from memory_server.document import Document, Layer, SourcePath
from memory_server.embedding.vector_cache import text_hash
from memory_server.errors import UsageError
from memory_server.index.expression import AllOf, AnyOf, Expression, Not, Term, fts_query, is_identifier, quote_text
from memory_server.index.keywords import SqliteKeywords
from memory_server.index.ledger import Ledger, SourceState
from memory_server.search.literal import Where, find_literal, holds
from memory_server.search.question import MAX_DEPTH, parse_query
from memory_server.search.retrieval import literal_candidate

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
    with closing(ledger_of(tmp_path_factory.mktemp("root"), PASSAGES)) as ledger:
        yield ledger.connection


def ledger_of(folder: Path, passages: Sequence[str]) -> Ledger:
    """A ledger in which every passage is a source of its own, numbered from 1."""
    ledger = Ledger(folder / "ledger.db")
    with ledger.transaction():
        for number, passage in enumerate(passages, start=1):
            document = Document(SourcePath(f"topics/{number}.md"), Layer.TOPIC, "", body=passage)
            chunks = chunk_document(document)
            state = SourceState(document.path, len(passage), 0, "")
            ledger.put_source(document, state, chunks, [text_hash(chunk.searchable) for chunk in chunks])
    return ledger


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
    assert quote_text(text).count('"') % 2 == 0
    assert accepts(connection, quote_text(text))


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


@pytest.mark.parametrize(
    ("passage", "queries"),
    [
        (
            normalize("NFD", "Müller keeps the keys of the Größenlager in Zürich."),
            "Müller Mu\u0308ller MÜLLER Zürich Muller",
        ),
        ("重跑gen-itgc后50条悬空引用清零。", "itgc gen-itgc 50条 50 悬空 引用清零 后50条"),
        (
            "Call foo_bar_baz() before push_back(), since dd08561ab.",
            "foo_bar* foo_bar_baz* foo_* push_b* bar baz* dd08561",
        ),
        ("The ＡＰＩ of Straßenkarten.", "API api ＡＰＩ strassenkarten STRASSENKARTEN Straßenkarten STRAẞENKARTEN"),
        ("wledQuickControl and HTTPServer2", "quick control http server"),
        (
            "See src/memory/größe.py:12 and kebab-case-name.",
            "größe.py grosse* grösse.py src/mem* kebab* kebab-case* case-name",
        ),
        ("Don’t use the non\u2011breaking hyphen in ﬁles", "don't Don’t non-breaking files"),
        ("10\u00a0km bis Donau\u00addampf", "donaudampf Donau\u00addampf"),
        ("IŞIK İstanbul ısı", "işik istanbul isi ISTANBUL"),
        (normalize("NFD", "한국어API를 부른다"), "한국어 API 부른다"),
        ("ｶﾞｷﾞはﾊﾝｶｸ", "ガギ ハンカク"),
        ("हिन्दी में लिखा", "हिन्दी लिखा"),
        ("ที่นี่ไม่มีช่องว่าง", "ไม่มี"),
    ],
)
def test_one_text_is_found_in_its_several_spellings(tmp_path: Path, passage: str, queries: str) -> None:
    with closing(ledger_of(tmp_path, [passage])) as ledger:
        missed = [query for query in queries.split() if not found(ledger.connection, query)]

    assert missed == []


@pytest.mark.parametrize(
    ("passage", "queries"),
    [
        ("10\u00a0km bis ＡＰＩ ｋｅｙ", ['"10 km"', '"api key"', "“10 km”"]),
        ("am großen Müllerweg", [normalize("NFD", '"großen Müllerweg"'), '"am GROSSEN muller"*']),
    ],
)
def test_a_phrase_is_found_in_its_several_spellings(tmp_path: Path, passage: str, queries: list[str]) -> None:
    with closing(ledger_of(tmp_path, [passage])) as ledger:
        missed = [query for query in queries if not found(ledger.connection, query)]

    assert missed == []


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12), st.sampled_from(["NFC", "NFD", "NFKC"]))
def test_a_word_is_found_in_any_composition(word: str, form: Literal["NFC", "NFD", "NFKC"]) -> None:
    assert holds(Term(normalize(form, word)), f"before {word}, after")
    assert holds(Term(word), f"before {normalize(form, word)}, after")


@pytest.mark.parametrize("query", ["lay", "dd0856", "bar_qux", "foo_z*", "東都", "がき"])
def test_what_stands_otherwise_is_not_found(tmp_path: Path, query: str) -> None:
    passages = ["mail_relay and dd08561ab", "foo_bar_baz", "東京都", "かぎ"]
    with closing(ledger_of(tmp_path, passages)) as ledger:
        assert found(ledger.connection, query) == []


def test_the_beginning_of_a_hash_is_marked_as_one(tmp_path: Path) -> None:
    with closing(ledger_of(tmp_path, ["since dd08561ab"])) as ledger:
        where = Where(SqliteKeywords(ledger.connection), None)
        matches = find_literal(where, parse_query("dd08561").expression, limit=10)

    assert [match.closeness for match in matches] == [3]
    assert literal_candidate(matches[0]).why[0].detail == "as the beginning of a hash"


def test_a_spelling_that_goes_leaves_no_word_behind(tmp_path: Path) -> None:
    with closing(ledger_of(tmp_path, ["Die Straße ＡＰＩ", "plain"])) as ledger:
        with ledger.transaction():
            ledger.remove_source(SourcePath("topics/1.md"))

        assert found(ledger.connection, "strasse") == []
        assert ledger.integrity_problems() == []
