"""One odd file stops nothing: it is a problem with a remedy, and every good session beside it is taken in."""

import io
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from crawler.archive.files import EntryRedactor
from crawler.archive.store import Archive
from crawler.ingest import IngestReport, ingest
from crawler.reading.record import Readings
from crawler.transcripts.entry import Entry
from crawler.transcripts.transcript import MAX_LINE_BYTES, MAX_WORDS_BYTES, TranscriptReader, open_transcript
from tests.crawler.builders import (
    OTHER_SESSION,
    SESSION,
    assistant,
    call,
    person,
    result,
    settings_in,
    to_lines,
    working_session,
    write_transcript,
)
from tests.crawler.test_ingest_and_forget import CLOSED

Make = Callable[[Path], object]
WINDOW = 1 << 29
OTHER_LINES = to_lines(person(71, "the odd one", session=OTHER_SESSION))


def name_of_bytes(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jsonl")).write_bytes(OTHER_LINES)


def with_a_large_window(content: bytes) -> bytes:
    """An `.lzma` file whose head asks for a window that no decoder of ours grants."""
    packed = bytearray(lzma.compress(content, lzma.FORMAT_ALONE))
    packed[1:5] = WINDOW.to_bytes(4, "little")
    return bytes(packed)


ODD: dict[str, tuple[Make, str, str]] = {
    "a dangling link": (lambda f: (f / "x.jsonl").symlink_to("/nowhere"), "x.jsonl", "leads nowhere"),
    "a link to itself": (lambda f: (f / "x.jsonl").symlink_to(f / "x.jsonl"), "x.jsonl", "leads nowhere"),
    "a pipe": (lambda f: os.mkfifo(f / "x.jsonl"), "x.jsonl", "it is no file"),
    "a link to a device": (lambda f: (f / "x.jsonl").symlink_to("/dev/zero"), "x.jsonl", "it is no file"),
    "a folder": (lambda f: (f / "x.jsonl").mkdir(), "x.jsonl", "this folder has the name of a transcript"),
    "a name that is not UTF-8": (name_of_bytes, r"\udcff.jsonl", "not UTF-8"),
    "what is not packed": (lambda f: (f / "x.jsonl.xz").write_bytes(OTHER_LINES), "x.jsonl.xz", "cannot be unpacked"),
    "half a packed file": (
        lambda f: (f / "x.jsonl.xz").write_bytes(lzma.compress(OTHER_LINES * 99)[:-40]),
        "x.jsonl.xz",
        "cannot be unpacked (its end is missing)",
    ),
    "a window of 500 MB": (
        lambda f: (f / "x.jsonl.xz").write_bytes(with_a_large_window(OTHER_LINES)),
        "x.jsonl.xz",
        "cannot be unpacked (Memory usage limit exceeded)",
    ),
    "a session named as a path": (
        lambda f: (f / "x.jsonl").write_bytes(
            to_lines(person(71, "odd", session="../../../../../../a-b-c-d-01234567"))
        ),
        "x.jsonl",
        "is no id. It is kept as session x-",
    ),
    "a line beyond measure": (
        lambda f: (f / "x.jsonl").write_bytes(b'{"type":"' + b"x" * MAX_LINE_BYTES + b'"}\n' + OTHER_LINES),
        "x.jsonl",
        "a line of 32 MB",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_named_and_every_session_beside_it_is_taken_in(tmp_path: Path, name: str) -> None:
    make, path, what = ODD[name]
    live = tmp_path / "live"
    write_transcript(live, *working_session())
    make(live)

    with Ingester(settings_in(tmp_path / "root")) as ingester:
        report = ingester.ingest([live])
        [problem] = report.problems

        assert len(ingester.archive.record(SESSION).segments[0].entries) == 10
    assert problem.path == f"{live}/{path}" and what in str(problem) and problem.remedy
    assert all(file.is_relative_to(tmp_path / "root") for file in files_changed(tmp_path) - {live})


def files_changed(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.suffix in (".json", ".zst")}


@pytest.mark.parametrize("depth", [100, 480, 500, 700, 900, 960, 990, 1_000, 100_000])
@pytest.mark.parametrize("half", [b"", rb"\ud83d"])
def test_what_lies_too_deep_stops_nothing(tmp_path: Path, depth: int, half: bytes) -> None:
    odd = to_lines(person(1, "half X"), assistant(2, call("Bash", "c", command="Y")), person(3, "and on"))
    path = tmp_path / "live" / f"{SESSION}.jsonl"
    path.parent.mkdir()
    path.write_bytes(odd.replace(b"X", half).replace(b'"Y"', b"[" * depth + b'"%s"' % half + b"]" * depth))
    write_transcript(path.parent, person(71, "the one beside it", session=OTHER_SESSION), session=OTHER_SESSION)

    with Ingester(settings_in(tmp_path / "root")) as ingester:
        report = ingester.ingest([path.parent])

        assert report.sessions == {SESSION, OTHER_SESSION}
        assert [turn.text for turn in ingester.archive.turns(SESSION) if turn.is_prompt][-1] == "and on"


def test_of_a_call_that_lies_too_deep_no_secret_is_kept(tmp_path: Path) -> None:
    value: object = {"api_key": "sk-ant-api03-" + "a1B2" * 20}
    for _ in range(300):
        value = [value]
    write_transcript(tmp_path / "live", assistant(1, call("Write", "c", content=value)), person(2, "and on"))

    with Ingester(settings_in(tmp_path / "root")) as ingester:
        ingester.ingest([tmp_path / "live"])
        [prompt, turns] = ingester.archive.turns(SESSION)

    assert (prompt.text, turns.tool, turns.arguments) == ("and on", "Write", "")


def test_a_file_that_goes_away_before_its_turn_is_named(tmp_path: Path) -> None:
    first = write_transcript(tmp_path / "live", *working_session())
    os.utime(first, (1_000_000_000, 1_000_000_000))
    second = write_transcript(tmp_path / "live", person(71, "soon gone", session=OTHER_SESSION), session=OTHER_SESSION)
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        report = ingester.ingest([tmp_path / "live"], progress=lambda *_: second.unlink(missing_ok=True))

        assert ingester.archive.session_ids() == [SESSION]
    assert [(problem.path, problem.what) for problem in report.problems] == [
        (str(second), "it went away before it was read")
    ]


def test_a_file_that_grows_while_it_is_read_is_read_to_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    numbers = iter(range(100, 1_100))
    redact = EntryRedactor.redact

    def grow(self: EntryRedactor, entry: Entry) -> Entry:
        with path.open("ab") as stream:
            stream.write(to_lines(person(next(numbers), "and on")))
        return redact(self, entry)

    monkeypatch.setattr(EntryRedactor, "redact", grow)
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        first = ingester.ingest([path])
        monkeypatch.undo()
        second = ingester.ingest([path])

    assert (first.entries, second.entries, first.problems) == (10, 10, [])


def test_a_lone_surrogate_in_any_field_is_replaced_and_named(tmp_path: Path) -> None:
    odd = person(71, "half X", session=OTHER_SESSION, cwd="/srv/X", gitBranch="X", uuid="X")
    path = tmp_path / f"{OTHER_SESSION}.jsonl"
    path.write_bytes(to_lines(odd).replace(b"X", rb"\ud83d"))

    with Ingester(settings_in(tmp_path / "root")) as ingester:
        report = ingester.ingest([path])
        [turn] = ingester.archive.turns(OTHER_SESSION)

    assert turn.text == "half \ufffd" and [bad.what for bad in report.bad_lines] == ["half a character, replaced"]


def test_a_large_image_is_no_reason_to_pass_a_line_over() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "A" * MAX_WORDS_BYTES}}
    data = to_lines(result(1, "c", [image, {"type": "text", "text": "the words beside it"}]), person(2, "and on"))

    reader = TranscriptReader(io.BytesIO(data))

    assert [part.text for entry in reader for part in entry.parts] == ["[image]\nthe words beside it", "and on"]
    assert (reader.problems, reader.offset) == ([], len(data))


def test_a_line_of_too_many_words_is_passed_over_with_its_place() -> None:
    data = to_lines(person(1, "before"), assistant(2, "x" * MAX_WORDS_BYTES), person(3, "behind"))

    reader = TranscriptReader(io.BytesIO(data), path="s.jsonl")

    assert [part.text for entry in reader for part in entry.parts] == ["before", "behind"]
    assert [(problem.path, problem.line) for problem in reader.problems] == [("s.jsonl", 2)]
    assert reader.offset == len(data)


def test_many_records_on_one_line_cost_one_pass() -> None:
    line = to_lines(*(person(number, "x") for number in range(1, 3_000))).replace(b"\n", b"")

    assert len(list(TranscriptReader(io.BytesIO(line + b"\n")))) == 2_999


def test_packed_files_in_a_row_are_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.xz"
    path.write_bytes(lzma.compress(to_lines(person(1, "one"))) + b"\0" * 4 + lzma.compress(to_lines(person(2, "two"))))

    with open_transcript(path) as stream:
        assert [part.text for entry in TranscriptReader(stream) for part in entry.parts] == ["one", "two"]


# -- a damaged archive ----------------------------------------------------------------------------------------------


def taken(tmp_path: Path) -> IngestReport:
    settings, compressed = settings_in(tmp_path / "root"), tmp_path / "root" / "compressed"
    return ingest([tmp_path / "live"], settings, compressed, Readings(compressed.parent / "readings"), CLOSED)


@pytest.mark.parametrize("damage", [b"{", b'{"session_id":"another"}', b"\xff\xfe"])
def test_a_damaged_record_is_named_and_the_others_go_on(tmp_path: Path, damage: bytes) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    taken(tmp_path)
    record = tmp_path / "root" / "sessions" / "archive" / "sessions" / f"{SESSION}.json"
    whole = record.read_bytes()
    record.write_bytes(damage)
    with path.open("ab") as stream:
        stream.write(to_lines(person(11, "one more thing")))
    write_transcript(tmp_path / "live", person(71, "a new one", session=OTHER_SESSION), session=OTHER_SESSION)

    report = taken(tmp_path)
    record.write_bytes(whole)
    mended = taken(tmp_path)

    assert [problem.path for problem in report.problems] == [str(record)] and "move it away" in str(report.problems[0])
    assert report.ingest.sessions == {OTHER_SESSION}
    assert report.compress is not None and report.compress.session_ids == [OTHER_SESSION]
    assert (mended.problems, mended.ingest.entries) == ([], 1)


def test_a_damaged_record_that_was_moved_away_is_made_anew_from_what_is_left(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())
    taken(tmp_path)
    archive = Archive(tmp_path / "root" / "sessions" / "archive")
    before = archive.hash_session(SESSION)
    (archive.folder / "sessions" / f"{SESSION}.json").unlink()

    assert taken(tmp_path).ingest.entries == 10
    assert archive.hash_session(SESSION) == before and archive.verify() == []
    assert taken(tmp_path).ingest.unchanged == 1


def test_a_file_without_a_word_is_read_once(tmp_path: Path) -> None:
    snapshot = {"type": "file-history-snapshot", "messageId": "m", "sessionId": SESSION, "snapshot": {}}
    write_transcript(tmp_path / "live", snapshot)

    assert [taken(tmp_path).ingest.unchanged for _ in range(2)] == [0, 1]


def test_what_only_a_damaged_record_named_is_kept_until_it_is_forgotten(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())
    taken(tmp_path)
    archive = Archive(tmp_path / "root" / "sessions" / "archive")
    (archive.folder / "sessions" / f"{SESSION}.json").write_bytes(b"{")

    assert archive.remove_orphans() == 0
    assert archive.forget(SESSION)
    assert list(archive.folder.rglob("*.zst")) == []


# -- bounded memory -------------------------------------------------------------------------------------------------

READ = """
import sys, resource
from pathlib import Path
from crawler.archive.append import Ingester
from tests.crawler.builders import settings_in
with Ingester(settings_in(Path(sys.argv[1]) / "root")) as ingester:
    report = ingester.ingest([Path(sys.argv[1]) / "live"])
    peak = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3))
    if (status := Path("/proc/self/status")).exists():  # where the other counts what the parent held, too
        peak = int(status.read_text().partition("VmHWM:")[2].split()[0]) // 1_000
    print(peak, len(report.problems), *report.sessions)
"""


def test_a_line_of_600_mb_out_of_some_kilobytes_takes_no_memory(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())
    piece = lzma.compress(b"x" * 20_000_000, preset=0)
    start, end = (lzma.compress(part) for part in (OTHER_LINES + b'{"type":"', b'"}\n'))
    packed = tmp_path / "live" / f"{OTHER_SESSION}.jsonl.xz"
    packed.write_bytes(start + piece * 30 + end)

    done = subprocess.run([sys.executable, "-c", READ, tmp_path], capture_output=True, text=True, check=True)

    peak_mb, problems, *sessions = done.stdout.split()
    assert packed.stat().st_size < 200_000
    assert int(peak_mb) < 400 and problems == "1" and set(sessions) == {SESSION, OTHER_SESSION}
