import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.language.spelling import unify
from memory_server.language.words import cjk_pairs, extra_words, identifier_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("wledQuickControl", ["wled", "Quick", "Control"]),
        ("HTTPServer2", ["HTTP", "Server"]),
        ("parseJSONFile()", ["parse", "JSON", "File"]),
        ("my_fooBar", ["foo", "Bar"]),
        ("sha256", ["sha", "256"]),
        ("plain WORDS and_snakes 1a2b3c", []),
    ],
)
def test_identifiers_are_split_at_their_humps(text: str, parts: list[str]) -> None:
    assert list(identifier_parts(text)) == parts


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("東京都", ["東京", "京都"]),
        ("in 京 now", ["京"]),
        ("サーバー", ["サー", "ーバ", "バー"]),
        ("서버 포트", ["서버", "포트"]),
        ("plain", []),
    ],
)
def test_runs_without_blanks_are_written_as_overlapping_pairs(text: str, pairs: list[str]) -> None:
    assert list(cjk_pairs(text)) == pairs


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x4FFF), min_size=2, max_size=30))
def test_every_pair_of_a_run_is_written(run: str) -> None:
    pairs = list(cjk_pairs(f"before {run} after"))

    assert [pair[0] for pair in pairs] + [run[-1]] == list(run)


@given(st.text())
def test_extra_words_are_parts_of_the_text_and_each_stands_once(text: str) -> None:
    words = extra_words(text).split()

    assert all(word in unify(text) for word in words)
    assert len(set(words)) == len(words)
