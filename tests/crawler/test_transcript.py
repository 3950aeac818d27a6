import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.transcripts.entry import Entry
from crawler.transcripts.transcript import TranscriptReader
from tests.crawler.builders import assistant, person, queued, record, to_lines, working_session


def read(data: bytes) -> TranscriptReader:
    reader = TranscriptReader(io.BytesIO(data), path="s.jsonl")
    reader.entries = list(reader)  # type: ignore[attr-defined]
    return reader


def entries_of(data: bytes) -> list[Entry]:
    return list(TranscriptReader(io.BytesIO(data)))


def texts_of(data: bytes) -> list[str]:
    return [part.text for entry in entries_of(data) for part in entry.parts]


def test_a_torn_last_line_is_left_for_the_next_run() -> None:
    whole = to_lines(person(1, "first"))
    torn = to_lines(person(2, "second"))[:-20]

    reader = read(whole + torn)

    assert reader.offset == len(whole)
    assert reader.bad_lines == []


def test_a_last_line_without_newline_is_taken_when_it_is_whole() -> None:
    data = to_lines(person(1, "first"), person(2, "second")).removesuffix(b"\n")

    assert texts_of(data) == ["first", "second"]


def test_two_records_on_one_line_are_both_read_and_reported() -> None:
    data = to_lines(person(1, "first")).rstrip() + to_lines(person(2, "second"))

    reader = read(data)

    assert texts_of(data) == ["first", "second"]
    assert [str(bad) for bad in reader.bad_lines] == [
        "s.jsonl:1: 2 records on one line, all of them read (byte 0). Nothing to mend: the rest of the file is read."
    ]


def test_a_record_behind_a_torn_one_is_recovered() -> None:
    torn = to_lines(assistant(1, "lost"))[:-30]
    data = torn + to_lines(person(2, "kept"), person(3, "after"))

    reader = read(data)

    assert texts_of(data) == ["kept", "after"]
    assert [(bad.line, bad.offset, bad.what) for bad in reader.bad_lines] == [(1, 0, "not JSON")]


def test_an_object_inside_a_torn_record_is_not_taken_for_a_record() -> None:
    inner = {"type": "user", "uuid": "x", "sessionId": "s", "message": {"role": "user", "content": "never said"}}
    torn = json.dumps({"type": "progress", "data": [inner, 1, 2]})[:-6].encode()

    assert texts_of(torn + b"\n" + to_lines(person(1, "said"))) == ["said"]


def test_nul_bytes_before_a_line_are_passed_over() -> None:
    assert texts_of(b"\x00\x00\x00" + to_lines(person(1, "hello"))) == ["hello"]


@pytest.mark.parametrize("line", [b"42\n", b'"text"\n', b"[1]\n", b"not json\n", b"{\n", b"\xff\xfe\x00x\n"])
def test_a_line_without_a_record_is_reported_with_its_place(line: bytes) -> None:
    before = to_lines(person(1, "first"))

    reader = read(before + line + to_lines(person(2, "second")))

    assert [(bad.line, bad.offset) for bad in reader.bad_lines] == [(2, len(before))]
    assert texts_of(before + line + to_lines(person(2, "second"))) == ["first", "second"]


def test_bytes_that_are_not_utf8_are_replaced_and_the_rest_is_kept() -> None:
    data = to_lines(person(1, "caf? au lait")).replace(b"?", b"\xe9")

    assert texts_of(data) == ["caf\ufffd au lait"]


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    data = to_lines(person(1, "half X pair")).replace(b"X", rb"\ud83d")

    assert texts_of(data) == ["half \ufffd pair"]


def test_unknown_types_are_counted_and_passed_over() -> None:
    data = to_lines(record("quantum-state", 1), {"type": "host-row"}, person(2, "hello"), {"silly": "this"})

    reader = read(data)

    assert reader.skipped == {"quantum-state": 1, "host-row": 1, "without type": 1}


def test_request_logs_are_not_even_parsed() -> None:
    line = b'{"type":"api-request-blob","blob":{"role":"user" this is not JSON}}\n'

    reader = read(line)

    assert reader.skipped == {"api-request": 1}
    assert reader.bad_lines == []


def test_fields_of_another_type_than_expected_do_not_lose_the_record() -> None:
    odd = person(1, "hello", isMeta=0, cwd=7, gitBranch=None, timestamp=1234.5)

    assert texts_of(to_lines(odd)) == ["hello"]


DATA = to_lines(*working_session(), queued("and the docs – présentées"), record("progress", 11), person(12, "日本語"))


@given(st.integers(min_value=0, max_value=len(DATA)))
def test_reading_in_two_steps_gives_the_same_entries_as_reading_at_once(cut: int) -> None:
    first = TranscriptReader(io.BytesIO(DATA[:cut]))
    before = list(first)
    rest = io.BytesIO(DATA)
    rest.seek(first.offset)

    after = list(TranscriptReader(rest, offset=first.offset))

    assert before + after == entries_of(DATA)


@given(st.binary(max_size=400), st.integers(min_value=0, max_value=len(DATA)))
def test_no_bytes_stop_the_reading(noise: bytes, at: int) -> None:
    data = DATA[:at] + noise + DATA[at:] + b"\n" + to_lines(person(99, "the last words"))

    assert texts_of(data)[-1] == "the last words"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON, st.sampled_from(["user", "assistant", "attachment", "queue-operation", "summary", "system"]))
def test_no_shape_of_a_record_stops_the_reading(content: object, message: object, kind: str) -> None:
    odd = [
        person(1, content),
        record(kind, 2, message=message, content=content, attachment=message, origin=content, summary=message),
        record(kind, 3, message={"content": [content, {"type": "tool_use", "input": message}]}, operation="enqueue"),
        record(kind, 4, message={"content": [{"type": "tool_result", "content": content}]}, toolUseResult=message),
    ]

    assert texts_of(to_lines(*odd, person(5, "end")))[-1] == "end"
