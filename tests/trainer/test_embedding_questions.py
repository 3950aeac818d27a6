"""The packed file of passages and questions that the embedding model is taught."""

import lzma
from pathlib import Path

import pytest

from trainer.cli.embedder import QUESTIONS
from trainer.embedding.questions import Passage, passages_of_pairs, read_passages, sources_of, write_passages
from trainer.errors import DataError, UsageError
from trainer.hygiene import fault_of
from trainer.pairs import Pair

SOURCES = [{"set": "mail", "from": "example", "licence": "MIT"}]


def passage(
    number: int, of_set: str = "mail", questions: tuple[str, ...] = ("Which port?", "port of the relay")
) -> Passage:
    text = f"The relay number {number} listens on port {2500 + number}."
    return Passage(f"{of_set}-{number}", of_set, "session", number, "2026-03-01 Relay", text, questions)


def test_passages_come_back_as_they_were_packed(tmp_path: Path) -> None:
    passages = [passage(number) for number in range(9)]

    write_passages(tmp_path / "all.jsonl.xz", passages, SOURCES)

    assert read_passages(tmp_path / "all.jsonl.xz") == passages
    assert sources_of(tmp_path / "all.jsonl.xz") == SOURCES


def test_a_plain_file_is_read_like_a_packed_one(tmp_path: Path) -> None:
    passages = [passage(number) for number in range(9)]
    write_passages(tmp_path / "all.jsonl.xz", passages, SOURCES)
    (tmp_path / "all.jsonl").write_bytes(lzma.decompress((tmp_path / "all.jsonl.xz").read_bytes()))

    assert read_passages(tmp_path / "all.jsonl") == passages


def test_a_set_is_left_out_by_its_name(tmp_path: Path) -> None:
    kept = [passage(number) for number in range(9)]
    write_passages(tmp_path / "all.jsonl.xz", [*kept, passage(1, "other")], SOURCES)

    assert read_passages(tmp_path / "all.jsonl.xz", without=["other"]) == kept
    with pytest.raises(UsageError, match="there is no set 'third'"):
        read_passages(tmp_path / "all.jsonl.xz", without=["third"])


def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    file.write_text('{"sources": []}\n{"id": "1", "text": "The relay."}\n', encoding="utf-8")

    with pytest.raises(DataError, match=rf"{file.name}:2: a row has the keys context, id"):
        read_passages(file)


def test_too_few_passages_with_questions_are_refused(tmp_path: Path) -> None:
    write_passages(tmp_path / "all.jsonl.xz", [passage(number, questions=()) for number in range(20)], SOURCES)

    with pytest.raises(DataError, match="0 passages with questions are too few"):
        read_passages(tmp_path / "all.jsonl.xz")


def test_an_answer_of_several_pairs_is_one_passage_with_all_their_questions() -> None:
    answer = "The relay listens on port 2525."
    pairs = [
        Pair(question, answer, source="topics/mail-relay.md") for question in ("Which port?", "Where does it listen?")
    ]

    (found,) = passages_of_pairs(pairs)

    assert (found.embedded, found.questions) == (f"mail relay\n{answer}", ("Which port?", "Where does it listen?"))


def test_the_packed_questions_are_many_small_licensed_and_hold_no_secret() -> None:
    passages, sources = read_passages(QUESTIONS), sources_of(QUESTIONS)

    assert QUESTIONS.stat().st_size < 5_000_000
    assert sum(len(one.questions) for one in passages) >= 10_000
    assert {one.set for one in passages} == {source["set"] for source in sources}
    assert {source["licence"] for source in sources} <= {"MIT", "Apache-2.0"}
    assert [one.id for one in passages if any(map(fault_of, (one.context, one.text, *one.questions)))] == []
