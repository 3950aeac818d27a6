"""The schema of training data, its loader, and the split."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.errors import DataError, UsageError
from trainer.hygiene import find_fault
from trainer.pairs import Pair, read_pairs, write_pairs
from trainer.split import Sides, normal, split

GOOD = {
    "messages": [
        {"role": "system", "content": "Answer."},
        {"role": "user", "content": "Which port?"},
        {"role": "assistant", "content": "Port 25."},
    ]
}


def changed(**values: object) -> dict[str, object]:
    return {**GOOD, **values}


def messages(*roles_and_texts: tuple[str, str]) -> dict[str, object]:
    return {"messages": [{"role": role, "content": text} for role, text in roles_and_texts]}


def test_pairs_come_back_as_they_were_written(pairs: list[Pair], tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.jsonl", pairs)

    assert read_pairs(tmp_path / "pairs.jsonl") == tuple(pairs)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (changed(sorce="a.md"), "unknown key 'sorce'"),
        (messages(("user", "Q?"), ("assistant", "A.")), "exactly three messages"),
        (messages(("user", "Q?"), ("system", "S"), ("assistant", "A.")), "the role 'system'"),
        (messages(("system", "S"), ("user", " "), ("assistant", "A.")), "the user message is empty"),
        (messages(("system", "S"), ("user", "Q?"), ("assistant", "x" * 8_001)), "longer than 8000"),
        (messages(("system", "S"), ("user", "Q?"), ("assistant", "sk-abcdefghij0123456789")), "an API key"),
        (messages(("system", "S"), ("user", "Q?"), ("assistant", "CafÃ© opens")), "mis-decoded text"),
        (changed(source=3), "must be strings"),
        (changed(keys="25"), "must be a list"),
    ],
)
def test_a_bad_line_is_refused_with_file_and_line(row: dict[str, object], complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(f"{json.dumps(GOOD)}\n\n{json.dumps(row)}\n", encoding="utf-8")

    with pytest.raises(DataError, match=complaint) as caught:
        read_pairs(file)

    assert str(caught.value).startswith(f"{file}:3: ")


def test_a_line_that_is_no_json_is_refused_with_its_number(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(f"{json.dumps(GOOD)}\n{{torn", encoding="utf-8")

    with pytest.raises(DataError, match="not JSON") as caught:
        read_pairs(file)

    assert caught.value.line == 2


def test_a_missing_file_names_the_stage_before(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Run the stage that writes it first"):
        read_pairs(tmp_path / "missing.jsonl")


def test_too_few_pairs_are_refused(pairs_file: Path) -> None:
    with pytest.raises(DataError, match="12 pairs are fewer than the 13"):
        read_pairs(pairs_file, minimum=13)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        ("export AWS=AKIAABCDEFGHIJKLMNOP", "a cloud key"),
        ("ghp_" + "a1" * 18, "a forge token"),
        ("postgres://me:hunter22@db/x", "a password in an address"),
        ('password = "correct-horse"', "a password"),
        ("a torn \ufffd sign", "replacement characters of a failed decoding"),
        ("donâ€™t", "mis-decoded text"),
        ("a bell \x07", "control characters"),
    ],
)
def test_secrets_and_broken_text_are_named(text: str, fault: str) -> None:
    assert find_fault(text) == fault


@pytest.mark.parametrize(
    "text",
    [
        "The password is asked for at every start.",
        "Set `token: $TOKEN` in the file.",
        "Où est la forêt? Ça va, señor; größer als Übermut.",
        "A bearer token in a 0600 file guards the port.",
        "password: [redacted]",
    ],
)
def test_ordinary_text_passes(text: str) -> None:
    assert find_fault(text) is None


@given(
    sources=st.lists(st.integers(0, 8), min_size=2, max_size=60).filter(lambda found: len(set(found)) > 1),
    seed=st.integers(0, 99),
)
def test_no_pair_is_lost_and_both_sides_hold_some(sources: list[int], seed: int) -> None:
    made = [Pair(f"Question {index}?", "Answer.", source=f"{source}.md") for index, source in enumerate(sources)]

    sides = split(made, share=0.1, seed=seed, where=Path("pairs.jsonl"))

    both = [*sides.training, *sides.validation]
    assert sorted(pair.question for pair in both) == sorted(pair.question for pair in made)
    assert sides.training and sides.validation


@pytest.mark.parametrize("seed", range(20))
def test_where_there_are_enough_sources_none_stands_on_both_sides(seed: int) -> None:
    made = [Pair(f"Question {index}?", "Answer.", source=f"{index // 3}.md") for index in range(90)]

    sides = split(made, share=0.1, seed=seed, where=Path("pairs.jsonl"))

    assert sides.shared_sources == 0 and len(sides.validation) == 9
    assert sides == split(made, share=0.1, seed=seed, where=Path("pairs.jsonl"))


@pytest.mark.parametrize("seed", range(60))
def test_a_source_too_large_to_hold_out_leaves_the_small_ones_whole(seed: int) -> None:
    made = [Pair(f"Question {index}?", "Answer.", source=f"{max(index // 5, 160)}.md") for index in range(1000)]

    sides = split(made, share=0.1, seed=seed, where=Path("pairs.jsonl"))

    assert sides.shared_sources == 0 and len(sides.validation) == 100


@pytest.mark.parametrize("sources", [1, 2])
@pytest.mark.parametrize("seed", range(10))
def test_few_sources_give_the_share_as_one_run_of_chunks_each(sources: int, seed: int) -> None:
    made = [
        Pair(f"Question {source} {index}?", f"Answer {index}.", source=f"{source}.md", chunk=f"{source}-{index // 10}")
        for index in range(940)
        for source in range(sources)
    ]

    sides = split(made, share=0.1, seed=seed, where=Path("pairs.jsonl"))

    assert sides.shared_sources == sources and 94 * sources <= len(sides.validation) <= 94 * sources + 20
    held = {pair.chunk for pair in sides.validation}
    assert held.isdisjoint(pair.chunk for pair in sides.training)
    for source in range(sources):
        numbers = {int(chunk.split("-")[1]) for chunk in held if chunk.startswith(f"{source}-")}
        assert len([number for number in numbers if (number + 1) % 94 not in numbers]) == 1  # one run, or round the end


def test_how_far_the_sides_are_related_is_told() -> None:
    apart = Sides((Pair("A?", "The relay listens."),), (Pair("B?", "Wages come monthly."),))
    near = Sides((Pair("A?", "The relay listens on 25."),), (Pair("B?", "The relay listens on 2525."),))

    assert apart.likeness == 0 and near.likeness == 0.8


@pytest.mark.parametrize("count", [399, 401, 900])
def test_the_likeness_of_many_pairs_is_that_of_some_from_all_parts(count: int) -> None:
    trained = Pair("A?", "The relay listens.")
    held = [Pair(f"{place}?", trained.answer if place < count / 2 else "Wages come.") for place in range(count)]

    assert Sides((trained,), tuple(held)).likeness == pytest.approx(0.5, abs=0.01)


def test_too_few_pairs_are_named() -> None:
    with pytest.raises(DataError, match=r"pairs.jsonl: too few pairs to split"):
        split([Pair("A?", "a.", source="a")], share=0.1, seed=1, where=Path("pairs.jsonl"))


def test_a_question_of_both_sides_stays_in_training_only() -> None:
    made = [Pair("Who?", "A.", source="a.md"), Pair("who", "B.", source="b.md"), Pair("Why?", "C.", source="b.md")]
    made += [Pair(f"{n}?", "D.", source="a.md") for n in range(9)]

    sides = split(made, share=0.1, seed=1, where=Path("pairs.jsonl"))
    training, validation = sides.training, sides.validation

    assert not {normal(pair.question) for pair in training} & {normal(pair.question) for pair in validation}


def test_a_pair_without_source_cannot_be_split() -> None:
    with pytest.raises(DataError, match=r"pairs.jsonl:2: this pair names no source"):
        split([Pair("A?", "a.", source="a"), Pair("B?", "b.")], share=0.1, seed=1, where=Path("pairs.jsonl"))
