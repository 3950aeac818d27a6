"""The pictures show nobody's name."""

import json
from pathlib import Path

from benchmarks.pictures import hide_people


def test_people_are_replaced_in_transcripts_and_words_that_hold_a_name_stay(tmp_path: Path) -> None:
    payload = {
        "cwd": "/Users/mona/work/-Users-mona-work",
        "text": "Ask Zoë Lind\nmona or zoe@lind.example; the test of /Users/test/ and monads stay. zoë-lind, ZOË.LIND",
    }
    for name, ascii_only in (("a", True), ("b", False)):
        file = tmp_path / "project" / f"{name}.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(payload, ensure_ascii=ascii_only) + "\n", encoding="utf-8")

    hide_people(tmp_path, ["Zoë Lind", ""])

    for file in tmp_path.rglob("*.jsonl"):
        assert json.loads(file.read_text(encoding="utf-8")) == {
            "cwd": "/home/ann/work/-Users-ann-work",
            "text": "Ask ann\nann or ann@example.org; the test of /home/ann/ and monads stay. ann, ann",
        }
