"""What every digest holds, whoever writes it: goal, commits, what came of each request, commands that did what others
failed to do, and names letter by letter. Rules find it; what a model writes is held to the same lines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from crawler.compress.candidates import DigestCandidate, SectionName, clip
from crawler.compress.exchanges import exchange_lines, exchanges_of
from crawler.compress.identifiers import identifiers_of
from crawler.compress.selection import cost_of
from crawler.facts import SessionFacts
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.language.sentences import sentences_in
from memory_server.layers.sessions import Section, Statement

ROOMY_CHARS = 2_000  # of a digest, from which on identifiers have lines of their own; a short one quotes them at best
GOAL_CHARS = 420
COMMITS_SHOWN = 40
MAX_CITED = 4  # entries of one statement


def duties_of(
    turns: Sequence[Turn], facts: SessionFacts, candidates: Iterable[DigestCandidate], *, max_chars: int
) -> list[DigestCandidate]:
    """The lines that a digest of `max_chars` characters owes, of the candidates those with names."""
    goal = _goal(turns)
    lines = [*goal, *_commits(facts), *(candidate for candidate in candidates if candidate.names)]
    if max_chars >= ROOMY_CHARS:
        lines += identifiers_of(turns)
    in_goal = {line.entries[0] for line in goal}
    exchanges = [replace(one, request="") if one.entries[0] in in_goal else one for one in exchanges_of(turns)]
    return [*lines, *exchange_lines(exchanges, max_chars - sum(map(cost_of, lines)))]


def left_out(duties: Iterable[DigestCandidate], sections: Iterable[Section]) -> list[DigestCandidate]:
    """The duties that a digest does not fulfil.

    The names of a line must stand in it letter by letter; of a line without names a statement must cite an entry.
    """
    statements = [statement for section in sections for statement in section.statements]
    text = "\n".join(statement.text for statement in statements)
    cited = {entry[:8] for statement in statements for entry in statement.entries}
    return [
        duty
        for duty in duties
        if not (all(name in text for name in duty.names) if duty.names else cited & {e[:8] for e in duty.entries})
    ]


def completed(sections: Iterable[Section], missing: Iterable[DigestCandidate]) -> tuple[Section, ...]:
    """The sections with the missing lines as the rules put them, in the order in which sections stand."""
    statements = {section.title: list(section.statements) for section in sections}
    for line in missing:
        cited = tuple(entry[:8] for entry in line.entries[:MAX_CITED])
        statements.setdefault(line.section, []).append(Statement(line.text, cited))
    return tuple(Section(str(name), tuple(statements[name])) for name in SectionName if name in statements)


def _goal(turns: Sequence[Turn]) -> list[DigestCandidate]:
    """What the person first asked for, or the plan that the session began with."""
    for turn in turns:
        if turn.kind is PartKind.PLAN or (turn.role is Role.PERSON and turn.is_live):
            text = " ".join(sentences_in(turn.text))
            if len(text) >= 12 or turn.kind is PartKind.COMMAND:
                return [DigestCandidate(SectionName.GOAL, clip(text or turn.text, GOAL_CHARS), turn.entries)]
    return []


def _commits(facts: SessionFacts) -> list[DigestCandidate]:
    return [
        DigestCandidate(
            SectionName.OUTCOME,
            f"Committed {commit.hash}: {clip(commit.subject, 120)}",
            commit.entries[-1:],
            names=(commit.hash,),
        )
        for commit in facts.commits[:COMMITS_SHOWN]
    ]
