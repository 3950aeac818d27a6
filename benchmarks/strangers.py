"""Topics as strangers come to have them: sessions that a recorded model read, dreamt over, and all that it called sure
accepted; and questions that their statements answer, in words that these do not use.

The questions of `stranger_questions.jsonl` were written by reading the statements, without those that readings hold.
Of the ten strangers five had no say in any choice.
"""

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.recorded import RECORDING, build_reader, load_unread, read_all, recorded_pairs, sessions_answered
from crawler.archive.store import Archive
from crawler.reading.record import RULES, Holds
from dream.candidates import CONFIDENCE
from dream.decisions.accept import Decisions
from dream.decisions.presence import Consent, How
from dream.evidence import Evidence
from dream.judge.gate import is_supported
from dream.records import Kind, split_words
from dream.run import Bounds, Dream
from memory_server.document import SourcePath
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings

QUESTIONS = Path(__file__).parent / "stranger_questions.jsonl"
STRANGERS: Mapping[str, tuple[str, ...]] = {  # each with the projects that the folders of the sessions are named after
    "entire-cli": ("cli",),
    "skills": ("experiment", "skills", "agent-plugins"),
    "entire-sem": ("entire-sem",),
    "danieldemmel": ("danieldemmel.me-next",),
    "agents-md-evaluator": ("agents-md-evaluator",),
    "cipher-box": ("cipher-box",),
    "oh-my-posh": ("q_before",),
    "entire-graph": ("entire-graph",),
    "JSSoundRecorder": ("JSSoundRecorder",),
    "claude-code-log": ("claude-code-log",),
}
HELD_OUT = ("cipher-box", "oh-my-posh", "entire-graph", "JSSoundRecorder", "claude-code-log")


def accept_sure_offers(root: MemoryRoot) -> None:
    """Dreams over the archive of a memory as the recorded model read it, and accepts what is said and surely holds."""
    archive = Archive(root.path / "sessions" / "archive")
    unread, now = load_unread(archive), dt.datetime.now(dt.UTC)
    readings = read_all(build_reader(None, None, root.derived_folder, is_partial=True), unread, root.derived_folder)
    evidence = Evidence(archive)
    decisions = Decisions(
        root,
        PersonSettings(dream_hunks_a_day=1_000),
        lambda: now,
        is_true=evidence.resolve,
        supports=partial(is_supported, evidence=evidence),
    )
    Dream(
        decisions,
        archive,
        lambda record: readings[record.session_id],
        now=lambda: now,
        clock=time.monotonic,
        redactor=Redactor(()),
    ).run(Bounds())
    for hunk in decisions.store.hunks():
        one = hunk.update.candidate
        is_sure = one.confidence >= CONFIDENCE[Holds.SURELY] and one.extractor != RULES and one.kind is not Kind.FINDING
        if hunk.is_open and is_sure:
            decisions.accept(hunk.id, Consent(How.WORD))


def topics_saying(root: MemoryRoot, beginnings: Sequence[str]) -> tuple[SourcePath, ...]:
    """The topics in which a statement begins so."""
    files = root.topics.rglob("*.md")
    texts = {root.relative(file): file.read_text(encoding="utf-8") for file in files}
    return tuple(path for path, text in texts.items() if any(f"- {begin}" in text for begin in beginnings))


class ReadQuestions:
    """The questions that the recorded model said are answered by labelled statements: those of the line that rests on
    the same words of the same session.
    """

    def __init__(self, labels: Sequence[Mapping[str, Any]]):
        lines: dict[str, list[Any]] = {}
        for session in sessions_answered(recorded_pairs(RECORDING)):
            lines.setdefault(str(session["session"])[:8], []).extend(session["lines"])
        self._by_words: dict[tuple[str, ...], tuple[str, ...]] = {}
        for label in labels:
            quoted = _plain(label["quote"])
            ours = [
                line
                for line in lines.get(label["session"][:8], ())
                if any(quoted in (text := _plain(quote["text"])) or text in quoted for quote in line["quotes"])
            ]
            found = tuple(question for line in ours for question in line["questions"])
            self._by_words[tuple(split_words(label["statement"]))] = found

    def mark(self, path: SourcePath) -> str:  # noqa: ARG002  nothing changes while it is measured
        return ""

    def find_questions(self, path: SourcePath, statement: str) -> tuple[str, ...]:  # noqa: ARG002  found by its words alone
        return self._by_words.get(tuple(split_words(statement)), ())


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
