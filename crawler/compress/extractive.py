"""The digest of a session: what its reader noted, and lines that are taken from it.

The same text for the same session and reading every time. It quotes: each statement is a sentence that somebody said,
what a tool was asked for, or what it answered. What makes the digest is which of them fit (`candidates.py`). The share
of the session that it may take is set so that a digest is found by the words of what was done, not only of its goal.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

from crawler.archive.store import SessionRecord
from crawler.compress.candidates import DigestCandidate, SectionName, choose, count_chars, suggest_candidates
from crawler.compress.duties import MAX_CITED, list_duties
from crawler.facts import SessionFacts
from crawler.reading.record import Reading
from crawler.transcripts.turns import Role, Turn
from memory_server.language.shortening import clip
from memory_server.layers.sessions import CompressedSession, Section, Statement

COMPRESSOR = "extractive"  # the name that files carry of sessions read by rules
SHARE = 0.038  # of the session's characters; 2 to 4 % is asked for
MIN_CHARS = 1_000  # of a short session's digest
MAX_CHARS = 28_000  # a digest must be readable in one go


def compute_max_chars(facts: SessionFacts) -> int:
    """How many characters the digest of a session may have."""
    return int(min(max(facts.chars * SHARE, MIN_CHARS), MAX_CHARS))


def condense_session(
    turns: Sequence[Turn], facts: SessionFacts, record: SessionRecord, reading: Reading
) -> CompressedSession:
    """The compressed session. `reading`: with those lines alone that may stand in a memory."""
    max_chars = compute_max_chars(facts)
    refs = shorten_ids({entry for turn in turns for entry in turn.entries})
    # what a person said has lines of its own, with what came of it
    candidates = [one for one in suggest_candidates(turns, facts) if one.section is not SectionName.EXCHANGES]
    fixed = list_duties(turns, facts, candidates, reading, max_chars=max_chars)
    speech = [turn.text for turn in turns if turn.role is not Role.TOOL] + [c.text for c in candidates]
    picked = choose(
        candidates, speech, max_chars=max(0, max_chars - sum(map(count_chars, fixed))), covered=[c.text for c in fixed]
    )
    return CompressedSession(
        session_id=record.session_id,
        title=reading.title,
        summary=make_summary(reading.title, fixed),
        sections=tuple(build_sections([*fixed, *picked], refs)),
        project=record.project,
        called=record.called,
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
        outcome=str(reading.outcome),
        importance=weigh_session(facts),
        compressor=COMPRESSOR if not reading.is_by_model else reading.reader,
    )


def shorten_ids(entries: Iterable[str]) -> dict[str, str]:
    """Short names for entries: as many characters of the id as make it the only one, eight at least."""
    ids, short = sorted(entries), dict[str, str]()
    for place, entry_id in enumerate(ids):
        others = ids[max(0, place - 1) : place] + ids[place + 1 : place + 2]
        heads = (entry_id[:length] for length in range(8, len(entry_id)))
        short[entry_id] = next((one for one in heads if not any(map(str.startswith, others, repeat(one)))), entry_id)
    return short


def build_sections(candidates: Sequence[DigestCandidate], refs: Mapping[str, str]) -> list[Section]:
    """The candidates as sections, each once, in the order in which sections stand."""
    sections = []
    for name in SectionName:
        statements = [
            Statement(candidate.text, tuple(refs[entry] for entry in candidate.entries[:MAX_CITED]))
            for candidate in candidates
            if candidate.section is name
        ]
        if statements:
            sections.append(Section(str(name), tuple(dict.fromkeys(statements))))
    return sections


def weigh_session(facts: SessionFacts) -> float:
    """How much a session weighs, 0 to 1: by what it changed and how long people talked."""
    talked = min(facts.turns.get(Role.PERSON, 0) / 20, 1.0)
    changed = min(len(facts.touched) / 15, 1.0)
    committed = min(len(facts.commits) / 4, 1.0)
    return round(0.1 + 0.3 * talked + 0.3 * changed + 0.3 * committed, 2)


def make_summary(title: str, fixed: Sequence[DigestCandidate]) -> str:
    """One paragraph for the frontmatter: title and outcome."""
    outcomes = [candidate.text for candidate in fixed if candidate.section is SectionName.OUTCOME]
    return clip(". ".join([title.rstrip("."), *outcomes[:2]]), 480)
