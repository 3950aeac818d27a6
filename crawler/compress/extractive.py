"""The compressor that needs nothing: no model, no network, the same text for the same session every time.

It quotes: each statement is a sentence that somebody said, what a tool was asked for, or what it answered. What makes
the digest is which of them fit (`selection.py`). The share of the session that it may take is set so that a digest is
found by the words of what was done, not only by those of its goal.
"""

from collections.abc import Sequence

from crawler.archive.store import SessionRecord
from crawler.compress.candidates import DigestCandidate, SectionName, candidates_of, clip
from crawler.compress.duties import MAX_CITED, duties_of
from crawler.compress.selection import choose, cost_of
from crawler.compress.titles import title_of
from crawler.facts import SessionFacts
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.layers.sessions import CompressedSession, Section, Statement

SHARE = 0.038  # of the session's characters; 2 to 4 % is asked for
MIN_CHARS = 1_000  # of a short session's digest
MAX_CHARS = 28_000  # a digest must be readable in one go
GIVEN_UP = ("never mind", "forget it", "nevermind", "abandon", "scrap this", "drop this", "let's stop")


def chars_for(facts: SessionFacts) -> int:
    """How many characters the digest of a session may have."""
    return int(min(max(facts.chars * SHARE, MIN_CHARS), MAX_CHARS))


def compress_extractively(turns: Sequence[Turn], facts: SessionFacts, record: SessionRecord) -> CompressedSession:
    """A digest of a session whose lines are taken from it."""
    max_chars = chars_for(facts)
    refs = EntryRefs(entry for turn in turns for entry in turn.entries)
    # what a person said has lines of its own, with what came of it
    candidates = [one for one in candidates_of(turns, facts) if one.section is not SectionName.EXCHANGES]
    fixed = duties_of(turns, facts, candidates, max_chars=max_chars)
    speech = [turn.text for turn in turns if turn.role is not Role.TOOL] + [c.text for c in candidates]
    picked = choose(
        candidates, speech, max_chars=max(0, max_chars - sum(map(cost_of, fixed))), covered=[c.text for c in fixed]
    )
    title = title_of(turns, facts)
    return CompressedSession(
        session_id=record.session_id,
        title=title,
        summary=summary_of(title, fixed),
        sections=tuple(sections_from([*fixed, *picked.chosen], refs)),
        project=record.project,
        cwd=facts.cwd,
        branch=facts.branch,
        machine=record.machine,
        agent=record.agent,
        started=facts.started,
        ended=facts.ended,
        turns=facts.turns,
        tools=facts.tools,
        files_touched=tuple(touched.path for touched in facts.touched),
        commits=tuple(f"{commit.hash} {commit.subject}" for commit in facts.commits),
        outcome=outcome_of(turns, facts),
        importance=importance_of(facts),
    )


class EntryRefs:
    """Short names for entries: as many characters of the id as make it the only one, eight at least."""

    def __init__(self, entries: object):
        ids = sorted(set(entries))  # type: ignore[call-overload]
        self._short: dict[str, str] = {}
        for place, entry_id in enumerate(ids):
            neighbours = ids[max(0, place - 1) : place] + ids[place + 1 : place + 2]
            length = 8 + max(
                (len(common_prefix(entry_id[8:], other[8:])) + 1 for other in neighbours if other[:8] == entry_id[:8]),
                default=0,
            )
            self._short[entry_id] = entry_id[:length]

    def short(self, entry_id: str) -> str:
        return self._short[entry_id]


def common_prefix(one: str, other: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]


def sections_from(candidates: Sequence[DigestCandidate], refs: EntryRefs) -> list[Section]:
    """The candidates as sections, each once, in the order in which sections stand."""
    sections = []
    for name in SectionName:
        statements = [
            Statement(candidate.text, tuple(refs.short(entry) for entry in candidate.entries[:MAX_CITED]))
            for candidate in candidates
            if candidate.section is name
        ]
        if statements:
            sections.append(Section(str(name), tuple(dict.fromkeys(statements))))
    return sections


def outcome_of(turns: Sequence[Turn], facts: SessionFacts) -> str:
    """How a session ended, as far as deeds tell: `shipped` only with a commit, `unknown` rather than a guess."""
    spoken = [turn for turn in turns if turn.role is Role.PERSON and turn.is_live]
    last_words = spoken[-1].text.lower() if spoken else ""
    if any(sign in last_words for sign in GIVEN_UP):
        return "abandoned"
    live = [turn for turn in turns if turn.is_live and turn.kind is not PartKind.TITLE]
    was_stopped = bool(live) and live[-1].kind is PartKind.INTERRUPTION
    if facts.commits:
        return "partial" if was_stopped else "shipped"
    if was_stopped:
        return "abandoned" if not facts.touched else "partial"
    return "partial" if facts.touched and live and live[-1].role is Role.TOOL else "unknown"


def importance_of(facts: SessionFacts) -> float:
    """How much a session weighs, 0 to 1: by what it changed and how long people talked."""
    talked = min(facts.turns.get(Role.PERSON, 0) / 20, 1.0)
    changed = min(len(facts.touched) / 15, 1.0)
    committed = min(len(facts.commits) / 4, 1.0)
    return round(0.1 + 0.3 * talked + 0.3 * changed + 0.3 * committed, 2)


def summary_of(title: str, fixed: Sequence[DigestCandidate]) -> str:
    """One paragraph for the frontmatter: title and outcome."""
    outcomes = [candidate.text for candidate in fixed if candidate.section is SectionName.OUTCOME]
    return clip(". ".join([title.rstrip("."), *outcomes[:2]]), 480)
