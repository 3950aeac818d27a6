"""What dream makes of real sessions: hidden notes, planted statements and decoys, and proposals labelled by hand."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.dream_beam import SEED, share
from benchmarks.dream_planted import Planted, planted_texts
from benchmarks.dream_real import embed_packaged
from benchmarks.intake import rows
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import Archive
from crawler.quotes import SessionTurns
from crawler.transcripts.turns import Turn
from dream.evidence import Evidence
from dream.extract import Finder
from dream.extract.scorer import Scorer
from dream.judge.compare import compare, is_worth_asking
from dream.judge.gate import Gate
from dream.judge.rejections import Rejections
from dream.records import Update
from dream.topics import Topics, topics_of
from memory_server.language.words import content_words
from memory_server.redaction import Redactor

ROUNDS = 3  # of every template, with other values
COVERED = 0.5  # share of a planted statement that a quote must overlap to have found it
LABELS = Path(__file__).with_name("dream_labels.jsonl")
REMEMBERED_IN = ("CLAUDE.md", "MEMORY.md")  # what a person meant for good; other notes steer a workflow


def measure_writes(data: Path, queries: Path, folder: Path) -> dict[str, Any]:
    """The figures of the format `writes`."""
    settings = IngestSettings(archive=folder / "archive", state=folder / "ingest.sqlite")
    with Ingester(settings) as ingester:
        ingester.ingest([data])
    evidence = Evidence(Archive(settings.archive))
    find = Finder(Scorer(embed_packaged()))
    started = time.process_time()
    session_ids = Archive(settings.archive).session_ids()
    offers = {session_id: offered(evidence.session(session_id), evidence, find) for session_id in session_ids}
    dream_seconds = round(time.process_time() - started, 1)
    sessions = [evidence.session(session_id) for session_id in session_ids]
    return {
        "sessions": len(sessions),
        "dream_seconds": dream_seconds,  # of one core, over everything that was taken in
        **hidden_writes(queries, offers),
        **planted_figures(sessions, find),
        **labelled_figures(offers),
    }


def offered(session: SessionTurns, evidence: Evidence, find: Finder, topics: Topics | None = None) -> list[Update]:
    """What dream would show a person of one session."""
    topics = topics or topics_of({})
    gate = Gate(evidence, topics, Rejections(), Redactor())
    updates = [compare(candidate, topics) for candidate in find(session) if not gate.check(candidate)]
    return [update for update in updates if is_worth_asking(update)]


# -- what a person's notes got ----------------------------------------------------------------------------------------


def hidden_writes(queries: Path, offers: dict[str, list[Update]]) -> dict[str, Any]:
    """How much of what was written into notes is in the proposals of the session, and for the right project."""
    found: list[float] = []
    right = counted = 0
    for row in rows(queries):
        updates = offers.get(row["session"], [])
        sources = {source["uuid"] for source in row["human_sources"]}
        wanted = set(content_words(row["added_text"]))
        from_sources = [u for u in updates if any(quote.entry in sources for quote in u.candidate.quotes)]
        counted += bool(from_sources)
        right += any(is_right_file(update, row["target_file"]) for update in from_sources)
        given = {word for update in updates for word in content_words(update.candidate.text)}
        found.append(share(len(given & wanted), len(wanted)))
    return {
        "writes": len(found),
        "writes_with_a_proposal": counted,
        "right_file": share(right, counted),
        "content_recall": share(sum(found), len(found)),
    }


def is_right_file(update: Update, target: str) -> bool:
    """Whether a proposal goes to the project's own topic where the person's note was about the project."""
    project = update.candidate.project
    return project in update.place.target or target in REMEMBERED_IN


# -- planted ----------------------------------------------------------------------------------------------------------


def planted_figures(sessions: Sequence[SessionTurns], find: Finder) -> dict[str, Any]:
    """Statements and decoys, each planted into another real turn of a person."""
    texts = planted_texts(SEED, ROUNDS)
    hosts = [
        (session, turn) for session in sessions for turn in session.spoken if turn.is_prompt and len(turn.text) > 12
    ]
    dice = random.Random(SEED)  # noqa: S311  planting, not secrecy
    results = [(planted, is_offered(planted, *dice.choice(hosts), dice, find)) for planted in texts]
    parts = {
        part: rates([(planted, hit) for planted, hit in results if planted.part == part]) for part in ("tuned", "held")
    }
    missed = sorted(
        {planted.text for planted, hit in results if planted.part == "tuned" and planted.is_statement != hit}
    )
    return rates(results) | {"parts": parts, "planted_wrong_tuned": missed}


def is_offered(planted: Planted, session: SessionTurns, turn: Turn, dice: random.Random, find: Finder) -> bool:
    """Whether a text, planted into a turn, comes back as a proposal."""
    text, first = plant(turn.text, planted.text, dice)
    changed = replace(
        session, turns=tuple(replace(turn, text=text) if other is turn else other for other in session.turns)
    )
    end = first + len(planted.text)
    for candidate in find(changed):
        quote = candidate.quotes[0]
        overlap = min(end, quote.end) - max(first, quote.first)
        needed = COVERED * (len(planted.text) if planted.is_statement else 1)
        if quote.entry == turn.entries[0] and overlap > needed:
            update = compare(candidate, topics_of({}))
            gate = Gate(_Standing(changed), topics_of({}), Rejections(), Redactor())
            if is_worth_asking(update) and not gate.check(candidate):
                return True
    return False


class _Standing(Evidence):
    """Evidence of one session that is in no archive."""

    def __init__(self, session: SessionTurns):
        self._one = session

    def session(self, session_id: str) -> SessionTurns:
        assert session_id == self._one.session_id
        return self._one


def plant(text: str, planted: str, dice: random.Random) -> tuple[str, int]:
    """The text with the planted one before or behind it, as a sentence or paragraph of its own; and where it begins."""
    separator = "\n\n" if "\n" in planted or "\n" in text or dice.random() < 0.5 else " "
    if dice.random() < 0.5:
        return f"{planted}{separator}{text}", 0
    head = text.rstrip()
    head = head if separator != " " or head.endswith((".", "!", "?", ":")) else f"{head}."
    return f"{head}{separator}{planted}", len(head) + len(separator)


def rates(results: Sequence[tuple[Planted, bool]]) -> dict[str, float | int]:
    statements = [hit for planted, hit in results if planted.is_statement]
    decoys = [hit for planted, hit in results if not planted.is_statement]
    return {
        "planted": len(statements),
        "decoys": len(decoys),
        "planted_recall": share(sum(statements), len(statements)),
        "decoys_proposed": share(sum(decoys), len(decoys)),
    }


# -- labelled by hand -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Label:
    """What a reader made of one proposal: worth accepting, harmless, or false."""

    session: str
    entry: str
    first: int
    verdict: str  # worth, harmless, false
    reason: str


def labelled_figures(offers: dict[str, list[Update]]) -> dict[str, Any]:
    """The share of the offered proposals that a reader would accept, among those that were read."""
    labels = {(label.session, label.entry, label.first): label for label in read_labels()}
    shown = [(session, update) for session, updates in offers.items() for update in updates]
    keys = [(session, u.candidate.quotes[0].entry, u.candidate.quotes[0].first) for session, u in shown]
    read = [labels[key] for key in keys if key in labels]
    false = [label for label in read if label.verdict == "false"]
    return {
        "proposals": len(shown),
        "labelled": len(read),
        "unlabelled": len(shown) - len(read),
        "worth_accepting": share(sum(label.verdict == "worth" for label in read), len(read)),
        "false_per_session": share(len(false), len({session for session, _ in shown})),
    }


def read_labels() -> Iterator[Label]:
    for row in rows(LABELS):
        yield Label(**row)
