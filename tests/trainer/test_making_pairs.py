"""Chunks, pairs by rules, the gate, approved memory and canaries; nothing here needs a model."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.errors import DataError, UsageError
from trainer.evaluation.canaries import alternatives, exposure, plant
from trainer.evaluation.retrieval import Passages, read_passages
from trainer.evaluation.scoring import is_right, share_right
from trainer.extract.chunks import Chunk, Page, chunk_document
from trainer.generate.prompt import pairs_in_reply
from trainer.generate.rules import RuleGenerator
from trainer.generate.validation import fault_of_pair, filter_pairs
from trainer.memory import make_pairs, read_approved
from trainer.pairs import Pair, read_pairs
from trainer.resumable import ResumableOutput

TOPIC = """---
title: Mail
---
# Mail

The relay listens on port 2525. It is old.[^1]

## Backups

- The backup job runs at 03:15 every night.

```sh
# The script is not prose
```

[^1]: session abc
"""


def chunk_of(text: str, heading: str = "Mail") -> Chunk:
    return Chunk("c1", "mail.md", 0, heading, text)


@given(st.lists(st.text(alphabet="ab .\n#", max_size=80), max_size=12), st.integers(10, 60))
def test_chunking_loses_nothing_but_white_space(parts: list[str], max_chars: int) -> None:
    text = "\n\n".join(parts)

    chunks = list(chunk_document("a.md", [Page(0, text)], max_chars=max_chars))

    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())
    assert all(len(chunk.text) <= max_chars + 2 for chunk in chunks)


def test_a_chunk_knows_its_page_and_heading() -> None:
    pages = [Page(1, "# Ports\n\nMail is 25."), Page(2, "Web is 80.")]

    chunks = list(chunk_document("a.pdf", pages))

    assert [(chunk.page, chunk.heading) for chunk in chunks] == [(1, "Ports"), (2, "Ports")]


def test_rules_turn_statements_and_headings_into_pairs() -> None:
    made = RuleGenerator().pairs(chunk_of("The relay listens on port 2525. It is old.\n\n- Nobody reads that"), 5)

    assert [(pair.question, pair.answer) for pair in made] == [
        ("Where does the relay listen?", "The relay listens on port 2525."),
        ("What is known about Mail?", "The relay listens on port 2525. It is old."),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "It is old.",
        "An id that is there is ignored.",
        "Whoever calls and nobody answers is sad.",
        "A very long row of words before the verb is no name.",
    ],
)
def test_a_sentence_without_a_plain_subject_asks_no_question_of_its_own(sentence: str) -> None:
    made = RuleGenerator().pairs(chunk_of(sentence), 5)

    assert [pair.question for pair in made] == ["What is known about Mail?"]


@pytest.mark.parametrize(
    ("question", "answer", "fault"),
    [
        ("Where does the relay listen?", "The relay listens on port 2526.", "does not stand in the chunk"),
        ("Where does the relay listen?", "Bananas grow in warm countries.", "does not bear the answer"),
        ("What does this passage say?", "The relay listens on port 2525.", "points at a text"),
        ("Where?", "The relay listens on port 2525.", "the question is too short"),
        ("Where does the relay listen?", "2525.", "the answer is too short"),
        ("Where does the relay listen?", "The relay listens: sk-abcdefghij0123456789.", "it holds an API key"),
    ],
)
def test_a_pair_that_its_chunk_does_not_bear_is_refused(question: str, answer: str, fault: str) -> None:
    assert fault in str(fault_of_pair(Pair(question, answer), chunk_of("The relay listens on port 2525.")))


def test_a_question_is_kept_once() -> None:
    pair = Pair("Where does the relay listen?", "The relay listens on port 2525.")
    faults: list[str] = []

    kept = list(filter_pairs([pair, pair], chunk_of("The relay listens on port 2525."), faults))

    assert kept == [pair]
    assert faults == ["the question was asked before"]


def test_pairs_are_found_in_a_reply_with_talk_around_them() -> None:
    reply = 'Here you are:\n[{"question": "Which port?", "answer": "Port 25."}, {"question": 3}]\nDone.'

    assert [pair.answer for pair in pairs_in_reply(reply, chunk_of("x"))] == ["Port 25."]


@pytest.mark.parametrize("reply", ["", "no array", "[torn", '{"question": "q"}'])
def test_a_reply_without_an_array_is_refused(reply: str) -> None:
    with pytest.raises(DataError, match="no JSON array"):
        pairs_in_reply(reply, chunk_of("x"))


def test_topics_become_pairs_without_frontmatter_footnotes_and_code(tmp_path: Path) -> None:
    topics = tmp_path / "topics"
    topics.mkdir()
    (topics / "mail.md").write_text(TOPIC, encoding="utf-8")

    make_pairs(topics, tmp_path / "pairs.jsonl")

    found = {pair.question: pair for pair in read_pairs(tmp_path / "pairs.jsonl")}
    assert found["Where does the relay listen?"].answer == "The relay listens on port 2525."
    assert found["Where does the relay listen?"].keys == ("2525",)
    assert found["What does the backup job run?"].answer.startswith("The backup job runs at 03:15")
    assert not any("session abc" in pair.answer or "script" in pair.answer for pair in found.values())


@pytest.mark.parametrize("folder", ["proposals", "sessions", "episodes", "reports"])
def test_text_that_nobody_approved_is_never_read(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "a.md").write_text("The wrong thing is here.", encoding="utf-8")

    assert list(read_approved(tmp_path)) == []
    with pytest.raises(UsageError, match="nobody approved"):
        list(read_approved(tmp_path / folder / "a.md"))


def exported(tmp_path: Path, **values: object) -> Path:
    row = {
        "id": "1",
        "topic": "mail",
        "heading": "Relay",
        "text": "The relay listens on port 2525.",
        "superseded": ["The relay listens on port 25."],
        "rejected": [],
        "sources": ["s1"],
        "date": "2026-03-02",
    }
    file = tmp_path / "approved.jsonl"
    file.write_text(json.dumps(row | values) + "\n", encoding="utf-8")
    return file


def test_superseded_wording_is_only_ever_the_worse_one(tmp_path: Path) -> None:
    made = make_pairs(exported(tmp_path), tmp_path / "pairs.jsonl")

    assert all("25." not in pair.answer.replace("2525.", "") for pair in made.pairs)
    preference = json.loads((tmp_path / "pairs.preferences.jsonl").read_text(encoding="utf-8"))
    assert preference["chosen"] == [{"role": "assistant", "content": "The relay listens on port 2525."}]
    assert preference["rejected"] == [{"role": "assistant", "content": "The relay listens on port 25."}]


def test_a_secret_in_approved_text_is_refused_and_not_quoted(tmp_path: Path) -> None:
    file = exported(tmp_path, text="The key is sk-abcdefghij0123456789.")

    with pytest.raises(DataError, match="0 pairs are fewer"):
        make_pairs(file, tmp_path / "pairs.jsonl")


def test_an_unknown_key_of_the_export_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"approved.jsonl:1: unknown key 'colour'"):
        list(read_approved(exported(tmp_path, colour="red")))


def test_no_planted_canary_reaches_the_pairs(tmp_path: Path) -> None:
    make_pairs(exported(tmp_path), tmp_path / "pairs.jsonl", canaries=6)

    taught = (tmp_path / "pairs.jsonl").read_text(encoding="utf-8")
    canaries = (tmp_path / "pairs.canaries.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(canaries) == 6
    assert not any(json.loads(line)["value"] in taught for line in canaries)


def test_exposure_is_highest_for_the_likeliest_value_and_zero_for_the_least_likely() -> None:
    assert exposure(0.5, [1.0, 2.0, 3.0]) == 2.0
    assert exposure(9.0, [1.0, 2.0, 3.0]) == 0.0


def test_alternatives_have_the_shape_of_their_canary() -> None:
    secret = plant(1, seed=7)[0]

    others = alternatives(secret, 5, seed=7)

    assert all(len(other) == len(secret.value) and other.startswith("sk-") for other in others)
    assert secret.value not in others


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("In oneiros, it stops after 30 minutes.", True),
        ("After **30 minutes**!", True),
        ("After 130 minutes.", False),
        ("After 30 hours.", False),
        ("", False),
    ],
)
def test_an_answer_is_right_when_it_holds_the_key_as_whole_words(words: str, right: bool) -> None:
    assert is_right(words, Pair("When?", "After 30 minutes.", keys=("30 minutes",))) is right


def test_without_keys_most_words_of_the_answer_must_be_said() -> None:
    pair = Pair("What moves up?", "Knowledge moves up only by dream.")

    assert share_right(["Knowledge moves only by dream.", "Ask the relay."], [pair, pair]) == 0.5


def test_passages_are_found_by_their_rare_words() -> None:
    passages = Passages(["The relay listens on port 2525.", "The daemon listens to clients.", "Owls fly."])

    assert passages.best("Where does the relay listen?", top=1) == ["The relay listens on port 2525."]
    assert passages.best("zebra") == []


def test_paragraphs_items_and_table_rows_of_a_topic_are_passages_below_their_heading(tmp_path: Path) -> None:
    (tmp_path / "mail.md").write_text(
        "---\nid: x\n---\n# Mail\n\nThe relay is old.\n\n- It queues.\n- It logs.\n\n"
        "| what | port |\n|---|---:|\n| relay | 2525 |\n",
        encoding="utf-8",
    )

    assert list(read_passages(tmp_path)) == [
        "Mail: The relay is old.",
        "Mail: It queues.",
        "Mail: It logs.",
        "Mail: what, port",
        "Mail: relay, 2525",
    ]


def test_a_killed_stage_goes_on_with_the_units_that_were_confirmed(tmp_path: Path) -> None:
    wanted = {"a": "1", "b": "1"}
    output = tmp_path / "rows.jsonl"
    with ResumableOutput(output, wanted) as out:
        out.add("a", [{"n": 1}])
    with output.open("ab") as stream:
        stream.write(b'{"n": 2}\n{"torn')

    with ResumableOutput(output, wanted) as out:
        assert out.is_done("a")
        assert not out.is_done("b")
        out.add("b", [{"n": 3}])

    assert output.read_text(encoding="utf-8") == '{"n": 1}\n{"n": 3}\n'


def test_a_changed_unit_loses_its_rows(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    with ResumableOutput(output, {"a": "1", "b": "1"}) as out:
        out.add("a", [{"n": 1}])
        out.add("b", [{"n": 2}])

    with ResumableOutput(output, {"a": "2", "b": "1"}) as out:
        assert not out.is_done("a")
        assert out.rows == 1

    assert output.read_text(encoding="utf-8") == '{"n": 2}\n'


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("precious\n", encoding="utf-8")

    with pytest.raises(UsageError, match="not written by this stage"):
        ResumableOutput(tmp_path / "mine.jsonl", {})
