"""Evaluation data as memories: what files each data set becomes, and what each line of them stands for.

A `Case` is one memory root with the questions asked of it. Sets of one corpus (docs, exact) are one case; sets of
conversations are one case a conversation. Every right answer is named by a unit: a turn, a message, a session or a
document. Where units are smaller than sessions, `session_of` leads from one to the other.
"""

import hashlib
import json
import lzma
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

MONTHS = "january february march april may june july august september october november december".split()


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its right answers."""

    id: str
    text: str
    kind: str
    evidence: frozenset[str]  # units; empty where the corpus holds no answer


@dataclass(slots=True)
class Case:
    """A memory, and what is asked of it."""

    name: str
    files: dict[str, str] = field(default_factory=dict)  # path below the root -> text
    unit_of_line: dict[tuple[str, int], str] = field(default_factory=dict)  # (path, line from 1) -> unit
    unit_of_file: dict[str, str] = field(default_factory=dict)  # where a whole file is a unit
    session_of: dict[str, str] = field(default_factory=dict)  # unit -> session, where they differ
    session_of_file: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)  # unit -> text, for the baseline
    questions: list[Question] = field(default_factory=list)
    unanswerable: list[Question] = field(default_factory=list)
    masked_lines: int = 0

    @property
    def has_sessions(self) -> bool:
        return bool(self.session_of)


def load_cases(layout: str, data: Path, queries: Path | None) -> list[Case]:
    """The cases of a data set: a file or folder, plain or `.xz`; `queries` are the questions, for docs and exact."""
    if layout in ("docs", "exact"):
        if queries is None:
            raise SystemExit(f"--format {layout} needs --queries FILE")
        return [_documents(data, read_lines(queries))]
    loaders = {"locomo": _locomo, "longmemeval": _longmemeval, "beam": _beam}
    return list(loaders[layout](data))


def read_any(file: Path) -> str:
    """A text file, plain or compressed with xz."""
    if file.suffix == ".xz":
        with lzma.open(file, "rt", encoding="utf-8") as stream:
            return stream.read()
    return file.read_text(encoding="utf-8")


def read_lines(file: Path) -> list[dict[str, Any]]:
    """A file of JSON lines."""
    return [json.loads(line) for line in read_any(file).splitlines() if line.strip()]


def _json_files(data: Path) -> list[Path]:
    """The JSON files of a data set: the file itself, or those directly in the folder."""
    if data.is_file():
        return [data]
    return sorted(file for file in data.iterdir() if file.name.removesuffix(".xz").endswith(".json"))


def _documents(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Case:
    """Every document as a topic, without the lines that any question of the file masks."""
    case = Case(folder.name)
    masked: dict[str, set[int]] = {}
    for row in rows:
        for mask in row.get("mask", ()):
            masked.setdefault(mask["doc"], set()).update(mask["lines"])
    for file in sorted(folder.rglob("*.md")) + sorted(folder.rglob("*.md.xz")):
        name = file.relative_to(folder).as_posix().removesuffix(".xz")
        if "/" not in name and (folder / "sources.json").exists():
            continue  # the data set's own README
        lines = read_any(file).split("\n")
        hidden = masked.get(name, set())
        case.masked_lines += len(hidden)
        text = "\n".join(line for number, line in enumerate(lines, start=1) if number not in hidden)
        path = f"topics/{name}"
        case.files[path] = text
        case.unit_of_file[path] = name
        case.units[name] = text
    case.questions = [
        Question(row["id"], row["query"], row.get("origin") or row.get("kind", ""), frozenset(row["answer_docs"]))
        for row in rows
    ]
    return case


def _locomo(data: Path) -> Iterator[Case]:
    """A case a conversation, a file a session, a line a turn."""
    for file in _json_files(data):
        for conversation in json.loads(read_any(file)):
            case = Case(conversation["sample_id"])
            talk = conversation["conversation"]
            for number in sorted(int(key.split("_")[1]) for key in talk if re.fullmatch(r"session_\d+", key)):
                when = _locomo_date(talk.get(f"session_{number}_date_time", ""))
                turns = [(turn["dia_id"], _locomo_turn(turn)) for turn in talk[f"session_{number}"]]
                title = f"Conversation of {talk['speaker_a']} and {talk['speaker_b']}"
                _add_session(case, f"S{number}", title, when, turns)
            for place, row in enumerate(conversation["qa"]):
                question = Question(
                    f"{case.name}-{place}",
                    row["question"],
                    f"category {row['category']}",
                    frozenset(row["evidence_ids"]),
                )
                if row["scored"]:
                    case.questions.append(question)
                elif row["category"] == 5:
                    case.unanswerable.append(question)
            yield case


def _locomo_turn(turn: Mapping[str, Any]) -> str:
    picture = f" [shared a picture: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{picture}"


def _locomo_date(text: str) -> datetime | None:
    match = re.search(r"(\d{1,2}):(\d{2}) ([ap])m on (\d{1,2}) (\w+),? (\d{4})", text)
    if not match:
        return None
    hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0)
    return datetime(int(match[6]), MONTHS.index(match[5].lower()) + 1, int(match[4]), hour, int(match[2]))


def _longmemeval(data: Path) -> Iterator[Case]:
    """A case a haystack, a file a session under a name that gives nothing away, a line a turn."""
    for file in _json_files(data):
        for haystack in json.loads(read_any(file)):
            case = Case(haystack["haystack_id"])
            names = {}
            for number, session in enumerate(haystack["sessions"]):
                names[session["session_id"]] = name = f"S{number}"
                turns = [
                    (f"{name}:{place}", f"{turn['role']}: {turn['content']}")
                    for place, turn in enumerate(session["turns"])
                ]
                _add_session(case, name, f"Conversation {number}", _longmemeval_date(session["date"]), turns)
            for unit, session_name in case.session_of.items():
                case.units[session_name] = f"{case.units.get(session_name, '')}\n{case.units.pop(unit)}"
            case.unit_of_line.clear()
            case.unit_of_file = case.session_of_file
            case.session_of = {}
            case.session_of_file = {}
            for row in haystack["questions"]:
                evidence = frozenset(names[name] for name in row["answer_session_ids"] if name in names)
                if row.get("scored", True) and evidence:
                    case.questions.append(Question(row["qid"], row["question"], "session", evidence))
            assert not any("answer_" in text for text in case.files.values()), "an id in the text gives answers away"
            yield case


def _longmemeval_date(text: str) -> datetime | None:
    match = re.search(r"(\d{4})/(\d{2})/(\d{2})(?:.*?(\d{2}):(\d{2}))?", text)
    return datetime(*(int(part or 0) for part in match.groups())) if match else None  # type: ignore[arg-type]  # five numbers


def _beam(data: Path) -> Iterator[Case]:
    """A case a chat, a file a batch, a line a message."""
    folders = [data] if _beam_file(data, "chat") else sorted(folder for folder in data.iterdir() if folder.is_dir())
    for folder in folders:
        chat, asked = _beam_file(folder, "chat"), _beam_file(folder, "probing_questions")
        if chat is None or asked is None:
            continue
        case = Case(folder.name)
        anchor = None
        for batch in json.loads(read_any(chat)):
            messages = [message for turn in batch["turns"] for message in turn]
            anchors = [batch.get("time_anchor"), *(message.get("time_anchor") for message in messages)]
            anchor = next((date for text in anchors if text and (date := _beam_date(text))), anchor)
            turns = [(f"M{message['id']}", f"{message['role']}: {message['content']}") for message in messages]
            _add_session(case, f"B{batch['batch_number']}", f"Chat, part {batch['batch_number']}", anchor, turns)
        for kind, rows in json.loads(read_any(asked)).items():
            for row in rows:
                evidence = frozenset(f"M{number}" for number in row["evidence_ids"])
                question = Question(row["qid"], row["question"], kind, evidence)
                if row["scored"]:
                    case.questions.append(question)
                elif kind == "abstention":
                    case.unanswerable.append(question)
        yield case


def _beam_file(folder: Path, name: str) -> Path | None:
    return next((file for file in (folder / f"{name}.json", folder / f"{name}.json.xz") if file.is_file()), None)


def _beam_date(text: str) -> datetime | None:
    match = re.search(r"([A-Za-z]+)-(\d{1,2})-(\d{4})", text)
    if not match or match[1].lower() not in MONTHS:
        return None
    return datetime(int(match[3]), MONTHS.index(match[1].lower()) + 1, int(match[2]))


def _add_session(case: Case, name: str, title: str, when: datetime | None, turns: Sequence[tuple[str, str]]) -> None:
    """Adds a compressed session in which each turn is one line."""
    day = when.date().isoformat() if when else "undated"
    identity = hashlib.sha256(f"{case.name}/{name}".encode()).hexdigest()
    head = ["---", f"id: {identity[:8]}-{identity[8:12]}-4{identity[13:16]}-8{identity[17:20]}-{identity[20:32]}"]
    head += ["type: episodic", f'title: "{title}"']
    if when:
        head += [f"created: {when.isoformat()}Z"]
    lines = [*head, "---", "", "## Key exchanges", ""]
    path = f"sessions/compressed/{day[:4] if when else 'undated'}/{day}-{name.lower()}-{identity[:8]}.md"
    for unit, text in turns:
        flat = " ".join(text.split())
        lines.append(f"- {flat}")
        case.unit_of_line[path, len(lines)] = unit
        case.session_of[unit] = name
        case.units[unit] = flat
    case.files[path] = "\n".join(lines) + "\n"
    case.session_of_file[path] = name
