"""Readings by a model whose answers were recorded: it saw the prompts alone, in the place of `claude`.

A recording is a folder of NNNN.prompt.txt and NNNN.answer.txt, or one packed file, whose rows hold the hash of the
prompt and the answer. An answer is found by the whole prompt, or else composed of what was answered about each session.
"""

import datetime as dt
import hashlib
import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawler.archive.store import Archive
from crawler.facts import gather_facts
from crawler.model.budget import Budget, Price
from crawler.model.claude_cli import ClaudeCliClient
from crawler.model.client import Completion, ModelClient, PaidModel, Prompt, Refused
from crawler.quotes import session_turns
from crawler.reading.model import ModelReader, Unread
from crawler.reading.record import Reading
from crawler.reading.repeats import count_failures, group_habits
from crawler.reading.rules import read_by_rules
from memory_server.redaction import Redactor

RECORDING = Path(__file__).parent / "readings" / "recording.jsonl.xz"
NAMED = Path(__file__).parent / "readings" / "naming.jsonl"
NUMBERED = re.compile(r"^(\d+) \| \w+: (.*?)(?: \(noted: .*\))?$")  # a statement in a request to name topics


@dataclass(slots=True)
class RecordedClient:
    """Answers as somebody answered before: to the prompt letter by letter, or else to the sessions that it shows."""

    by_hash: Mapping[str, str]
    by_session: Mapping[str, Any]
    price: Price = field(default_factory=Price)
    name: str = "claude-cli"
    is_partial: bool = False  # whether sessions that nobody read may stay as rules read them
    exact: int = 0
    by_names: int = 0
    asked: list[str] = field(default_factory=list)

    def complete(self, prompt: Prompt) -> Completion:
        text = f"{prompt.instructions}\n{prompt.session}"
        self.asked.append(text)
        if (answer := self.by_hash.get(hash_prompt(text))) is not None:
            self.exact += 1
        else:
            known = [self.by_session[name] for name in sessions_shown(text) if name in self.by_session]
            if not known and not self.is_partial:
                raise Refused(f"nobody has answered this prompt, of sessions {', '.join(sessions_shown(text))}")
            self.by_names += 1
            answer = json.dumps(known)
        return Completion(answer, len(text) // 4, len(answer) // 4)

    @property
    def summary(self) -> str:
        return f"{self.exact} prompts replayed as they stood, {self.by_names} session by session"


def build_reader(
    reader: str | None, recorded: Path | None, folder: Path, *, is_partial: bool = False
) -> ModelClient | None:
    """The way to the reader; None for rules."""
    if reader == "rules":
        return None
    if reader == "claude-cli" and recorded is None:
        return ClaudeCliClient(folder / "claude-cli", Price())
    return replay(recorded or RECORDING, is_partial=is_partial)


def replay(*recordings: Path, is_partial: bool = False) -> RecordedClient:
    """A model that answers as was recorded. `is_partial`: sessions that nobody read stay as rules read them."""
    pairs = [pair for recording in recordings for pair in recorded_pairs(recording)]
    objects = {str(one["session"])[:8]: one for one in sessions_answered(pairs)}
    return RecordedClient({hash_prompt(text): answer for text, answer in pairs}, objects, is_partial=is_partial)


def recorded_pairs(place: Path) -> Iterator[tuple[str, str]]:
    """Prompt and answer of each call; of a packed recording the prompt's hash stands for it."""
    if place.is_file():
        with lzma.open(place, "rt", encoding="utf-8") as lines:
            yield from ((row["prompt_sha256"], row["answer"]) for row in map(json.loads, lines))
        return
    for file in sorted(place.rglob("*.prompt.txt")):
        answer = file.with_name(file.name.replace(".prompt.", ".answer."))
        if answer.exists():
            text = file.read_text(encoding="utf-8")
            text = text.partition("\n")[2] if text.startswith("[") else text  # behind the arguments of the call
            yield text, answer.read_text(encoding="utf-8")


def write_prompts(prompts: Iterable[str], folder: Path) -> None:
    """Writes prompts for whoever answers them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, prompt in enumerate(prompts, start=1):
        (folder / f"{number:03d}.prompt.txt").write_text(prompt, encoding="utf-8")


def pack_answers(folder: Path, file: Path) -> None:
    """Packs a folder of prompts and answers: the hash of each prompt and its answer, a line each."""
    with lzma.open(file, "wt", encoding="utf-8") as packed:
        for prompt, answer in recorded_pairs(folder):
            packed.write(json.dumps({"prompt_sha256": hash_prompt(prompt), "answer": answer}) + "\n")


def sessions_answered(pairs: Iterable[tuple[str, str]]) -> Iterator[Mapping[str, Any]]:
    """What was answered about each session; statements that were written again are no session."""
    yield from (one for _, answer in pairs for one in json.loads(answer) if "session" in one)


def hash_prompt(text: str) -> str:
    """The hash of a prompt; of one that is given as its hash, that."""
    is_hash = len(text) == 64 and text.isalnum()
    return text if is_hash else hashlib.sha256(text.encode()).hexdigest()


def sessions_shown(text: str) -> tuple[str, ...]:
    """The sessions whose pages a prompt holds."""
    return tuple(line.split()[2].rstrip(";") for line in text.splitlines() if line.startswith("=== session "))


def read_all(client: ModelClient | None, unread: Sequence[Unread], folder: Path) -> dict[str, Reading]:
    """The readings of sessions, by rules where nobody else reads or answers. `folder` keeps what was spent."""
    readings = {one.session.session_id: one.plain for one in unread}
    if client is not None:
        budget = Budget(folder / "spent.json", today=dt.date.today(), run_usd=0, day_usd=0)
        reader = ModelReader(PaidModel(client, budget, pause=lambda _: None), Redactor())
        plain = list(readings.values())
        for reading in reader.read(unread, group_habits(plain), count_failures(plain)):
            readings[reading.session_id] = reading
    return readings


def load_unread(archive: Archive) -> list[Unread]:
    """All sessions, as rules read them, the newest first."""
    records = sorted(archive.records(), key=lambda one: (one.ended, one.session_id), reverse=True)
    return [_load_unread(archive, record.session_id, record.project_name) for record in records]


def _load_unread(archive: Archive, session_id: str, project: str) -> Unread:
    turns = list(archive.turns(session_id))
    session, facts = session_turns(session_id, project, turns), gather_facts(turns)
    return Unread(session, facts, read_by_rules(session, turns, facts, archive.hash_session(session_id)))


@dataclass(frozen=True, slots=True)
class RecordedNamer:
    """Names topics as a model did before: by project and statement, so that others may be beside it."""

    topics: Mapping[str, Mapping[str, str]]  # summaries, by project and name
    places: Mapping[tuple[str, str], Sequence[str]]  # topic and section, by project and statement

    @classmethod
    def read(cls, file: Path) -> "RecordedNamer":
        """A line a project: `project`, `topics` (name to summary), `statements` (text to topic and section)."""
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        places = {(row["project"], text): place for row in rows for text, place in row["statements"].items()}
        return cls({row["project"]: row["topics"] for row in rows}, places)

    def complete(self, prompt: Prompt) -> Completion:
        """The recorded answer to what of a request is known."""
        lines = prompt.session.splitlines()
        project = lines[0].removeprefix("Project: ")
        found = {
            match[1]: self.places[project, match[2]]
            for line in lines
            if (match := NUMBERED.match(line)) and (project, match[2]) in self.places
        }
        topics = [{"name": name, "summary": summary} for name, summary in self.topics.get(project, {}).items()]
        answer = json.dumps({"topics": topics, "statements": found})
        return Completion(answer, len(prompt.session) // 4, len(answer) // 4)
