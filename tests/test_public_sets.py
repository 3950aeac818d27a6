"""Public sets are read in the form in which their authors publish them."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import retrieval
from benchmarks.layouts import Case, load_cases

TURN = {"role": "user", "content": "The relay listens on port 2525.", "has_answer": True}
OTHER = {"role": "assistant", "content": "Plants like rain."}


def longmemeval_row(name: str, kind: str = "multi-session") -> dict[str, object]:
    return {
        "question_id": name,
        "question_type": kind,
        "question": "On which port does the relay listen?",
        "answer": "2525",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 04:10"],
        "haystack_session_ids": ["answer_280352e9", "ultrachat_1"],
        "haystack_sessions": [[TURN], [OTHER]],
        "answer_session_ids": ["answer_280352e9"],
    }


def written(file: Path, value: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return file


def evidence(case: Case) -> dict[str, set[str]]:
    return {question.id: set(question.evidence) for question in case.questions}


def test_a_question_of_longmemeval_has_its_haystack_and_names_nothing(tmp_path: Path) -> None:
    rows = [longmemeval_row("q1", "temporal-reasoning"), longmemeval_row("q2_abs")]
    file = written(tmp_path / "longmemeval_s.json", rows)

    first, second = load_cases("longmemeval", file, None)

    assert evidence(first) == {"q1": {"S0"}}
    assert first.questions[0].kind == "temporal-reasoning"
    assert not any("answer_" in path + text for path, text in first.files.items())
    assert (second.questions, [question.id for question in second.unanswerable]) == ([], ["q2_abs"])


def test_a_set_is_read_row_by_row_and_a_torn_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.layouts.BLOCK", 7)
    whole = json.dumps([longmemeval_row(f"q{number}") for number in range(3)], indent=1)
    file = written(tmp_path / "longmemeval_m.json", whole)
    assert [case.name for case in load_cases("longmemeval", file, None)] == ["q0", "q1", "q2"]

    file.write_text(whole[:-40], encoding="utf-8")

    with pytest.raises(SystemExit, match="ends within a row"):
        list(load_cases("longmemeval", file, None))


def test_locomo_is_read_without_what_a_preparation_adds(tmp_path: Path) -> None:
    conversation = {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "I moved to Bergen.", "img_url": ["x"]},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "I keep bees."},
        ],
        "session_2_date_time": "2:00 pm on 9 May, 2023",
    }
    asked = [
        {"question": "Where?", "answer": "Bergen", "evidence": ["D1:1; D1:02", "D7:9"], "category": 4},
        {"question": "Which?", "answer": "none", "evidence": [], "category": 1},
        {"question": "Never said?", "adversarial_answer": "x", "evidence": ["D1:1"], "category": 5},
    ]
    row = {"sample_id": "conv-26", "conversation": conversation, "qa": asked}

    (case,) = load_cases("locomo", written(tmp_path / "locomo10.json", [row]), None)

    assert evidence(case) == {"conv-26-0": {"D1:1", "D1:2"}}
    assert [question.text for question in case.unanswerable] == ["Never said?"]


def test_a_chat_of_beam_is_read_with_its_plans_and_the_shorter_one_is_taken(tmp_path: Path) -> None:
    def batch(number: int, text: str) -> dict[str, object]:
        return {"batch_number": 1, "turns": [[{"role": "user", "id": number, "content": text}]]}

    payload = {
        "knowledge_update": [{"question": "When?", "source_chat_ids": {"original_info": [4], "updated_info": [9]}}],
        "abstention": [{"question": "Who?"}],
    }
    for size, chat in {"10M": [{"plan-1": [batch(4, "May")]}, {"plan-2": [batch(9, "June")]}], "100K": []}.items():
        written(tmp_path / size / "3" / "chat.json", chat)
        written(tmp_path / size / "3" / "probing_questions" / "probing_questions.json", payload)
    written(tmp_path / "100K" / "3" / "chat_trunecated.json", [batch(4, "cut"), batch(9, "to size")])

    small, large = load_cases("beam", tmp_path, None)

    assert [small.name, large.name] == ["100K/3", "10M/3"]
    assert evidence(large) == {"10M/3-knowledge_update-0": {"M4", "M9"}}
    assert list(large.units.values()) == ["user: May", "user: June"]
    assert list(small.units.values()) == ["user: cut", "user: to size"]
    assert [question.kind for question in small.unanswerable] == ["abstention"]


def test_a_question_of_lmeb_is_searched_in_its_candidates_alone(tmp_path: Path) -> None:
    task = tmp_path / "Dialogue" / "Some" / "part"
    corpus = [{"id": name, "title": "", "text": f"text of {name}"} for name in ("a", "b", "c")]
    written(task / "corpus.jsonl", "\n".join(map(json.dumps, corpus)))
    written(
        task / "queries.jsonl", "\n".join(json.dumps({"id": name, "text": f"about {name}?"}) for name in ("p", "q"))
    )
    written(task / "qrels.tsv", "query-id\tcorpus-id\tscore\np\ta\t1\nq\tb\t1\nq\tc\t0\n")
    (whole,) = load_cases("lmeb", tmp_path, None)
    assert (evidence(whole), len(whole.files)) == ({"p": {"a"}, "q": {"b"}}, 3)

    pools = [{"scene_id": "p", "candidate_doc_ids": ["a", "b"]}, {"scene_id": "q", "candidate_doc_ids": ["c"]}]
    written(task / "candidates.jsonl", "\n".join(map(json.dumps, pools)))

    (first,) = load_cases("lmeb", tmp_path, None)
    assert (evidence(first), set(first.units)) == ({"p": {"a"}}, {"a", "b"})


def test_figures_tell_all_from_any_by_kind_of_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = longmemeval_row("q1") | {"answer_session_ids": ["answer_280352e9", "ultrachat_1"]}
    file = written(tmp_path / "longmemeval_s.json", [both, longmemeval_row("q2", "single-session-user")])
    out = tmp_path / "figures.json"
    words = ["--format", "longmemeval", "--data", str(file), "--vectors", str(tmp_path / "v"), "--json", str(out)]
    monkeypatch.setattr(sys, "argv", ["retrieval", *words])

    retrieval.main()

    found = json.loads(out.read_text(encoding="utf-8"))["systems"]["fts5"]
    assert (found["hit@5"], found["all@5"]) == (1.0, 0.5)
    assert "all@5 by kind" in capsys.readouterr().out
