import sqlite3
from contextlib import closing
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.language.spelling import is_spelt_alike, unify
from memory_server.language.words import WORDS


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Müller", "Mu\u0308ller"),
        ("Zürich", "Zurich"),
        ("ＡＰＩ　ｋｅｙ", "API key"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("Größe, GRÖẞE", "Grosse, GROSSE"),
        ("İstanbul ısı", "Istanbul isi"),
        ("Łódź Ørsted", "Lodz Orsted"),
        ("ﬁle œuvre", "file oeuvre"),
        ("σοφός", "σοφοσ"),
        ("ёлка", "елка"),
        ("Donau\u00addampf\u200bschiff", "Donaudampfschiff"),
        ("don’t “ask” foo\u2011bar", 'don\'t "ask" foo-bar'),
        ("10\u00a0km", "10 km"),
        ("עִבְרִית مُحَمَّد", "עברית محمد"),
        ("重跑gen-itgc后50条", "重跑 gen-itgc 后 50 条"),
        ("한국어API를", normalize("NFD", "한국어 API 를")),
    ],
)
def test_what_is_spelt_in_two_ways_becomes_the_same(one: str, other: str) -> None:
    assert unify(one) == unify(other)


@pytest.mark.parametrize(
    ("one", "other"), [("か", "が"), ("कि", "की"), ("ที่", "ที"), ("foo_bar", "foo-bar"), ("API", "api")]
)
def test_other_words_stay_others(one: str, other: str) -> None:
    assert unify(one) != unify(other)


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_an_ascii_text_stays_as_it_is(text: str) -> None:
    assert unify(text) == text


@given(st.text(), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_no_composition_changes_the_spelling(text: str, form: str) -> None:
    assert unify(normalize(form, text)) == unify(text)  # type: ignore[arg-type]  # of literals


@given(st.text())
def test_the_one_spelling_is_its_own(text: str) -> None:
    assert unify(unify(text)) == unify(text)


def test_what_is_spelt_alike_is_cut_into_the_same_words() -> None:
    texts = [f"a{chr(code)}b" for code in range(0x80, 0x2600) if is_spelt_alike(chr(code))]

    assert len(texts) > 300
    assert words_in_index(texts) == words_in_index([unify(text) for text in texts])


def words_in_index(texts: list[str]) -> list[tuple[str, int]]:
    """The words into which the keyword index cuts texts, each with the place of its text."""
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute(f"create virtual table text using fts5(x, tokenize='{WORDS}')")
        index.execute("create virtual table place using fts5vocab('text', 'instance')")
        index.executemany("insert into text(x) values(?)", [(text,) for text in texts])
        return index.execute("select term, doc from place order by doc, offset").fetchall()
