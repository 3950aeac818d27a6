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

from memory_server.language.times import MONTH_NAMES

BLOCK = 1 << 20  # characters that are read at a time


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

    def find_unit(self, path: str, line: int) -> str:
        """The unit that a line of a file, from 1, is or belongs to; empty where it is none."""
        return self.unit_of_file.get(path) or self.unit_of_line.get((path, line), "")


def load_cases(layout: str, data: Path, queries: Path | None) -> Iterator[Case]:
    """The cases of a data set, one after the other: a file or folder, plain or `.xz`.

    LoCoMo, LongMemEval, BEAM and LMEB are read as their authors publish them; `queries` are the questions, for docs
    and exact. Whatever a set calls its sessions, no name that gives an answer away reaches a memory.
    """
    if layout in ("docs", "exact"):
        if queries is None:
            raise SystemExit(f"--format {layout} needs --queries FILE")
        return iter([_documents(data, read_lines(queries))])
    loaders = {"locomo": _locomo, "longmemeval": _longmemeval, "beam": _beam, "lmeb": _lmeb}
    return loaders[layout](data)


def find_projects(data: Path) -> dict[str, Path]:
    """The folders of the projects of which a set of data holds real sessions, by name; cases made by hand are none.

    Ends the program where there is none: figures of nothing would look like figures.
    """
    places = [place for kind in ("transcripts", "dream_real") for place in sorted((data / kind).glob("*/"))]
    found = {
        place.name: place for place in places if place.name != "negatives" and not place.name.endswith("-fixtures")
    }
    if not found:
        raise SystemExit(f"no folder with sessions of a project below {data}/transcripts or {data}/dream_real")
    return found


def read_any(file: Path) -> str:
    """A text file, plain or compressed with xz."""
    if file.suffix == ".xz":
        with lzma.open(file, "rt", encoding="utf-8") as stream:
            return stream.read()
    return file.read_text(encoding="utf-8")


def read_lines(file: Path) -> list[dict[str, Any]]:
    """A file of JSON lines."""
    return [json.loads(line) for line in read_any(file).splitlines() if line.strip()]


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """The members of a JSON array, one at a time: LongMemEval-M is a single array of 2.7 GB."""
    decoder = json.JSONDecoder()
    with lzma.open(file, "rt", encoding="utf-8") if file.suffix == ".xz" else file.open(encoding="utf-8") as stream:
        waiting = stream.read(BLOCK).lstrip().removeprefix("[")
        while True:
            waiting = waiting.lstrip(" \t\r\n,")
            if waiting.startswith("]"):
                return
            try:
                row, end = decoder.raw_decode(waiting)
            except json.JSONDecodeError:
                block = stream.read(max(BLOCK, len(waiting)))  # doubled, so that a long row is not parsed too often
                if not block:
                    raise SystemExit(f"{file}: the file ends within a row. Download it again.") from None
                waiting += block
                continue
            yield row
            waiting = waiting[end:]


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
        for conversation in _rows(file):
            case = Case(conversation["sample_id"])
            talk = conversation["conversation"]
            for number in sorted(int(key.split("_")[1]) for key in talk if re.fullmatch(r"session_\d+", key)):
                when = _locomo_date(talk.get(f"session_{number}_date_time", ""))
                turns = [(turn["dia_id"], _locomo_turn(turn)) for turn in talk[f"session_{number}"]]
                title = f"Conversation of {talk['speaker_a']} and {talk['speaker_b']}"
                _add_session(case, f"S{number}", title, when, turns)
            for place, row in enumerate(conversation["qa"]):
                named = {f"D{int(s)}:{int(t)}" for text in row["evidence"] for s, t in LOCOMO_TURN.findall(text)}
                question = Question(
                    f"{case.name}-{place}",
                    row["question"],
                    f"category {row['category']}",
                    frozenset(named & case.session_of.keys()),
                )
                if row["category"] == 5:
                    case.unanswerable.append(question)
                elif question.evidence:
                    case.questions.append(question)
            yield case


LOCOMO_TURN = re.compile(r"D:?(\d+):(\d+)")  # some evidence is written "D8:6; D9:17"


def _locomo_turn(turn: Mapping[str, Any]) -> str:
    picture = f" [shared a picture: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{picture}"


def _locomo_date(text: str) -> datetime | None:
    match = re.search(r"(\d{1,2}):(\d{2}) ([ap])m on (\d{1,2}) (\w+),? (\d{4})", text)
    if not match:
        return None
    hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0)
    return datetime(int(match[6]), MONTH_NAMES.index(match[5].lower()) + 1, int(match[4]), hour, int(match[2]))


def _longmemeval(data: Path) -> Iterator[Case]:
    """A case a haystack, a file a session under a name that gives nothing away, a line a turn."""
    for file in _json_files(data):
        for haystack in map(_haystack, _rows(file)):
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
                question = Question(row["qid"], row["question"], haystack["question_type"], evidence)
                if row["qid"].endswith("_abs"):  # the haystack holds no answer
                    case.unanswerable.append(question)
                elif evidence:
                    case.questions.append(question)
            assert not any("answer_" in text for text in case.files.values()), "an id in the text gives answers away"
            yield case


def _haystack(row: dict[str, Any]) -> dict[str, Any]:
    """A row as it is published, a question with its haystack, as a haystack with one question."""
    if "sessions" in row:
        return row
    parts = zip(row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True)
    return {
        "haystack_id": row["question_id"],
        "question_type": row["question_type"],
        "sessions": [{"session_id": name, "date": date, "turns": turns} for name, date, turns in parts],
        "questions": [{**row, "qid": row["question_id"]}],
    }


def _longmemeval_date(text: str) -> datetime | None:
    match = re.search(r"(\d{4})/(\d{2})/(\d{2})(?:.*?(\d{2}):(\d{2}))?", text)
    return datetime(*(int(part or 0) for part in match.groups())) if match else None  # type: ignore[arg-type]  # five numbers


def _beam(data: Path) -> Iterator[Case]:
    """A case a chat, a file a batch, a line a message: any folder below `data` that holds a chat and its questions.

    Where a number stands for several messages, as across the plans of a chat of 10 million tokens, each is right.
    """
    for questions in sorted(data.rglob("probing_questions.json*")):
        folder = questions.parent if questions.parent.name != "probing_questions" else questions.parent.parent
        chats = [file for name in BEAM_CHATS for file in (folder / name, folder / f"{name}.xz") if file.is_file()]
        if not chats:
            continue
        case = Case(folder.relative_to(data).as_posix())
        anchor = None
        for number, batch in enumerate(_beam_batches(json.loads(read_any(chats[0]))), start=1):
            messages = [message for turn in batch["turns"] for message in turn]
            anchors = [batch.get("time_anchor"), *(message.get("time_anchor") for message in messages)]
            anchor = next((date for text in anchors if text and (date := _beam_date(text))), anchor)
            turns = [(f"M{message['id']}", f"{message['role']}: {message['content']}") for message in messages]
            _add_session(case, f"B{number}", f"Chat, part {number}", anchor, turns)
        for kind, rows in json.loads(read_any(questions)).items():
            for place, row in enumerate(rows):
                evidence = frozenset(f"M{number}" for number in _numbers(row.get("source_chat_ids")))
                question = Question(f"{case.name}-{kind}-{place}", row["question"], kind, evidence)
                if kind == "abstention":
                    case.unanswerable.append(question)
                elif evidence:
                    case.questions.append(question)
        yield case


BEAM_CHATS = ("chat_trunecated.json", "chat.json")  # spelt so; its questions refer to the shorter one where it is there


def _beam_batches(chat: Any) -> Iterator[Mapping[str, Any]]:
    """The batches of a chat, a list of them, or one of lists by the name of a plan."""
    for part in chat if isinstance(chat, list) else chat.values():
        if "turns" in part:
            yield part
        else:
            yield from _beam_batches(part)


def _numbers(evidence: Any) -> Iterator[int]:
    """The numbers in lists and objects of them."""
    if isinstance(evidence, int):
        yield evidence
    elif evidence:
        for part in evidence.values() if isinstance(evidence, dict) else evidence:
            yield from _numbers(part)


def _beam_date(text: str) -> datetime | None:
    match = re.search(r"([A-Za-z]+)-(\d{1,2})-(\d{4})", text)
    if not match or match[1].lower() not in MONTH_NAMES:
        return None
    return datetime(int(match[3]), MONTH_NAMES.index(match[1].lower()) + 1, int(match[2]))


def _lmeb(data: Path) -> Iterator[Case]:
    """A case a group of candidates, a document a topic: any folder below `data` with a corpus, queries and judgements.

    `candidates.jsonl` names what a question, or all of a scene, is searched in; without it that is the whole corpus.
    """
    for file in sorted(data.rglob("corpus.jsonl")):
        folder = file.parent
        corpus = {_lmeb_id(row): "\n\n".join(filter(None, (row.get("title"), row["text"]))) for row in read_lines(file)}
        right: dict[str, set[str]] = {}
        for line in read_any(folder / "qrels.tsv").splitlines():
            query, document, score = line.split("\t")
            if score.strip().isdigit() and int(score) > 0:  # the first line names the columns
                right.setdefault(query, set()).add(document)
        queries = read_lines(folder / "queries.jsonl")
        for number, (names, rows) in enumerate(_lmeb_scenes(folder / "candidates.jsonl", corpus, queries)):
            case = Case(f"{folder.relative_to(data).as_posix()}-{number}")
            for place, name in enumerate(names):
                path = f"topics/d{place}.md"
                case.files[path] = case.units[name] = corpus[name]
                case.unit_of_file[path] = name
            case.questions = [
                Question(_lmeb_id(row), row["text"], folder.relative_to(data).as_posix(), frozenset(evidence))
                for row in rows
                if (evidence := right.get(_lmeb_id(row), set()) & set(names))
            ]
            if case.questions:
                yield case


def _lmeb_id(row: Mapping[str, Any]) -> str:
    return str(row.get("_id") or row["id"])


def _lmeb_scenes(
    file: Path, corpus: Mapping[str, str], queries: Sequence[dict[str, Any]]
) -> Iterator[tuple[list[str], list[dict[str, Any]]]]:
    """What is searched together, and the questions that are asked of it."""
    if not file.is_file():
        yield list(corpus), list(queries)
        return
    for row in read_lines(file):
        scene = next(str(value) for value in row.values() if not isinstance(value, list))
        names = next(value for value in row.values() if isinstance(value, list))
        rows = [query for query in queries if scene in (_lmeb_id(query), str(query.get("scene_id")))]
        yield [name for name in map(str, names) if name in corpus], rows


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
