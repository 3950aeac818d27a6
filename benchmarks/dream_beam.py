"""The pairs of BEAM: an earlier statement in a topic, a later message that changes or contradicts it.

    python -m benchmarks.dream_beam --data BEAM --queries beam_updates.jsonl [--json FILE]

Every sentence that the person typed stands for what a reader might make of it: nothing is chosen, so that the figures
are of the comparison alone. The weights in use were learnt from these chats, so the figures flatter;
`benchmarks.contradictions` leaves chats out.
"""

import argparse
import datetime as dt
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_text
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import Archive
from crawler.quotes import SessionTurns, make_quote
from crawler.reading.rules import find_typed_sentences, trim_sentence
from crawler.spoken import prose_regions
from dream.evidence import Evidence
from dream.judge.compare import compare, find_known, find_matches, strongest
from dream.judge.gate import Gate
from dream.judge.rejections import Rejections
from dream.records import Candidate, Kind, Relation
from dream.statements.values import ValueKind, find_values
from dream.topics import Topics, build_topics
from memory_server.document import SourcePath
from memory_server.language.sentences import sentence_spans
from memory_server.language.words import content_words
from memory_server.redaction import Redactor

NEGATIVES = 5  # a positive
SEED = 20260301
STEPS = [step / 20 for step in range(1, 20)]
KINDS = ("contradiction_resolution", "knowledge_update")
AGAINST = (Relation.CONTRADICTS, Relation.SUPERSEDES, Relation.DRIFT)
TOPIC = SourcePath("topics/chat.md")
CONFIDENCE = 0.7  # of each sentence; nothing compared here looks at it
FIRST_MESSAGE = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Pair:
    """An earlier statement and a message that changes it, or one that only shares its words."""

    id: str
    chat: str
    earlier: tuple[int, ...]
    later: tuple[int, ...]
    is_positive: bool
    answer: str = ""  # of a knowledge update: the newest value in words


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a pair."""

    pair: Pair
    score: float  # of the strongest contradiction
    is_flagged: bool
    offers_newest: bool


def measure_beam(data: Path, queries: Path, folder: Path) -> dict[str, Any]:
    """The figures of the format `beam`."""
    rows = [json.loads(line) for line in queries.read_text(encoding="utf-8").splitlines()]
    outcomes: list[Outcome] = []
    for name in sorted({row["chat"] for row in rows}):
        chat = Chat.read(data / name, folder)
        outcomes += [chat.judge_pair(pair) for pair in make_pairs([row for row in rows if row["chat"] == name], chat)]
    tuned = tuned_part({outcome.pair.chat for outcome in outcomes})
    parts = {
        "tuned": compute_figures([outcome for outcome in outcomes if outcome.pair.chat in tuned]),
        "held": compute_figures([outcome for outcome in outcomes if outcome.pair.chat not in tuned]),
    }
    curve = [curve_point(outcomes, start) for start in STEPS]
    return compute_figures(outcomes) | {
        "curve": curve,
        "parts": parts,
        "missed": list_missed(outcomes),
        "wrong": wrong(outcomes),
    }


def tuned_part(names: Iterable[str]) -> set[str]:
    """Two thirds of the names, by the seed."""
    ordered = sorted(names)
    random.Random(SEED).shuffle(ordered)  # noqa: S311  a split, not secrecy
    return set(ordered[: round(len(ordered) * 2 / 3)])


def compute_figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    positives = [outcome for outcome in outcomes if outcome.pair.is_positive]
    flagged = [outcome for outcome in outcomes if outcome.is_flagged]
    right = sum(outcome.is_flagged for outcome in positives)
    valued = [outcome for outcome in positives if outcome.pair.answer and find_values(outcome.pair.answer)]
    return {
        "pairs": len(positives),
        "negatives": len(outcomes) - len(positives),
        "recall": share(right, len(positives)),
        "precision": share(right, len(flagged)),
        "newest_value": share(sum(outcome.offers_newest for outcome in valued), len(valued)),
    }


def curve_point(outcomes: Sequence[Outcome], start: float) -> dict[str, float]:
    flagged = [outcome for outcome in outcomes if outcome.score >= start]
    right = sum(outcome.pair.is_positive for outcome in flagged)
    positives = sum(outcome.pair.is_positive for outcome in outcomes)
    return {"from": start, "recall": share(right, positives), "precision": share(right, len(flagged))}


def list_missed(outcomes: Sequence[Outcome]) -> list[str]:
    return [f"{o.pair.id} {o.score:.2f}" for o in outcomes if o.pair.is_positive and not o.is_flagged]


def wrong(outcomes: Sequence[Outcome]) -> list[str]:
    return [f"{o.pair.id} {o.pair.later[0]}" for o in outcomes if not o.pair.is_positive and o.is_flagged]


def share(part: float, whole: float) -> float:
    return round(part / whole, 3) if whole else 0.0


class Chat:
    """One chat of BEAM, taken in as a transcript."""

    def __init__(self, name: str, messages: dict[int, str], evidence: Evidence, session: SessionTurns):
        self.name = name
        self.messages = messages  # of the person, by number
        self._gate = Gate(evidence, build_topics({}), Rejections(), Redactor())
        self._passed: dict[str, list[Candidate]] = {}  # by entry: a check of a long chat takes most of a second
        self.candidates: dict[str, list[Candidate]] = {}
        for candidate in find_offers(session):
            self.candidates.setdefault(candidate.quotes[0].entry, []).append(candidate)

    @classmethod
    def read(cls, source: Path, folder: Path) -> "Chat":
        """Reads a chat and takes it in below `folder`."""
        batches = json.loads((source / "chat.json").read_text(encoding="utf-8"))
        messages = [message for batch in batches for turn in batch["turns"] for message in turn]
        session_id = f"00000000-0000-4000-8000-{int(source.name):012d}"
        transcript = folder / "transcripts" / f"{session_id}.jsonl"
        transcript.parent.mkdir(exist_ok=True)
        lines = [json.dumps(record) for record in make_records(messages, source.name, session_id)]
        transcript.write_text("\n".join(lines) + "\n", encoding="utf-8")
        settings = IngestSettings(archive=folder / "archive", state=folder / "sessions.db")
        with Ingester(settings) as ingester:
            ingester.ingest([transcript])
        evidence = Evidence(Archive(settings.archive))
        own = {int(message["id"]): message["content"] for message in messages if message["role"] == "user"}
        return cls(source.name, own, evidence, evidence.session(session_id))

    def judge_pair(self, pair: Pair) -> Outcome:
        """Whether the later message is flagged against a topic that holds the earlier one."""
        score, flagged, newest = 0.0, False, False
        for candidate, topics in self.passing(pair):
            against = strongest(find_matches(candidate, topics))
            score = max(score, against.contradiction if against else 0.0)
            is_against = compare(candidate, topics).relation in AGAINST
            flagged = flagged or is_against
            newest = newest or (is_against and holds_values(candidate.text, pair.answer))
        return Outcome(pair, score, flagged, newest)

    def passing(self, pair: Pair) -> Iterator[tuple[Candidate, Topics]]:
        """What the later messages say that passes the gate, with topics that hold the earlier ones."""
        topics = build_topics({TOPIC: topic_text(self.messages[number] for number in pair.earlier)})
        for number in pair.later:
            for candidate in self._passing(make_entry_id(self.name, number)):
                if not find_known(candidate, topics):
                    yield candidate, topics

    def _passing(self, entry: str) -> list[Candidate]:
        if entry not in self._passed:
            self._passed[entry] = [one for one in self.candidates.get(entry, ()) if not self._gate.check(one)]
        return self._passed[entry]


def find_offers(session: SessionTurns) -> Iterator[Candidate]:
    """Every sentence that the person typed, as a candidate."""
    for turn in session.spoken_turns:
        for first, end in find_typed_sentences(turn):
            quote = make_quote(session, turn, first, end)
            yield Candidate(trim_sentence(quote.text), Kind.FACT, (quote,), CONFIDENCE, "typed", "beam")


def make_records(messages: Sequence[dict[str, Any]], chat: str, session_id: str) -> Iterator[dict[str, Any]]:
    """The messages as Claude Code would have written them."""
    parent = None
    for place, message in enumerate(messages):
        role = message["role"]
        content = message["content"] if role == "user" else [{"type": "text", "text": message["content"]}]
        yield {
            "type": role,
            "uuid": make_entry_id(chat, int(message["id"])),
            "parentUuid": parent,
            "sessionId": session_id,
            "timestamp": (FIRST_MESSAGE + dt.timedelta(minutes=place)).isoformat(),
            "cwd": "/srv/chat",
            "version": "2.1.40",
            "isSidechain": False,
            "message": {"id": f"msg_{message['id']}", "role": role, "content": content},
        }
        parent = make_entry_id(chat, int(message["id"]))


def make_entry_id(chat: str, number: int) -> str:
    """A uuid for a message: entries of different chats must not look like copies of each other."""
    return f"{number:08x}-{int(chat):04d}-4000-8000-{number:012x}"


def topic_text(messages: Iterable[str]) -> str:
    """A topic that says, sentence by sentence, what the person wrote in their own prose."""
    sentences = [
        " ".join(message[first + start : first + end].split())
        for message in messages
        for first, stop in prose_regions(message)
        for start, end in sentence_spans(message[first:stop])
    ]
    return "# Chat\n\n" + "".join(f"- {sentence}\n" for sentence in sentences)


def holds_values(text: str, answer: str) -> bool:
    """Whether a text gives every number and date of the answer."""
    counts = (ValueKind.QUANTITY, ValueKind.DATE, ValueKind.TIME, ValueKind.VERSION, ValueKind.ADDRESS)
    wanted = {value.value for value in find_values(answer) if value.kind in counts}
    return bool(wanted) and wanted <= {value.value for value in find_values(text)}


def make_pairs(rows: Sequence[dict[str, Any]], chat: Chat) -> list[Pair]:
    """The pairs of one chat, each positive followed by its negatives."""
    pairs = []
    for row in rows:
        if row["kind"] not in KINDS or not row.get("distinct_messages") or not row.get("roles"):
            continue
        sides = [[number for number in ids if number in chat.messages] for ids in row["roles"].values()]
        if len(sides) != 2 or not all(sides):
            continue
        first, second = sorted(sides, key=min)
        later = [number for number in second if number > min(first)]
        earlier = [number for number in first if number < max(later, default=0)]
        if not later or not earlier:
            continue
        positive = Pair(row["id"], chat.name, tuple(earlier), tuple(later), True, row.get("answer") or "")
        pairs += [positive, *choose_negatives(positive, set(first) | set(second), chat)]
    return pairs


def choose_negatives(positive: Pair, evidence: set[int], chat: Chat) -> Iterator[Pair]:
    """The person's other messages that share most words with the earlier statement; equals are drawn by the seed."""
    words = {word for number in positive.earlier for word in content_words(chat.messages[number])}
    others = sorted(number for number in chat.messages if number not in evidence)
    random.Random(f"{SEED}/{positive.id}").shuffle(others)  # noqa: S311  a draw, not secrecy
    others.sort(key=lambda number: -len(words & set(content_words(chat.messages[number]))))
    for number in others[:NEGATIVES]:
        yield Pair(f"{positive.id}/negative", chat.name, positive.earlier, (number,), False)


def main() -> int:
    """Prints the figures; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = {"machine": machine_text(), **measure_beam(options.data, options.queries, Path(folder))}
    text = json.dumps(report, indent=2)
    print(text)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
