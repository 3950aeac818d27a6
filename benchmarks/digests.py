"""What a digest keeps of a session: answers, statements worth keeping, names, commits and commands that worked.

    python -m benchmarks.digests --data ../shared/data [--json FILE]

Every session of every project is digested by rules and looked at as text; nothing is searched. In the same run and
with as many characters, two plain digests: the beginning of the last reply to each request, alone and with the
beginning of the request. A *kept* thing stands anywhere in the digest:

- `answers`: a member of every group in `must` of a question (eval/answers.jsonl); `in a line`: all of them in one line.
- `statements`: of a person's statement worth keeping (dream_real/labels.jsonl, durability 2 and 3), .7 of the telling
  words in one line.
- `identifiers` that were spoken in one session alone (eval/exact_transcripts.jsonl).
- `commits` that git confirmed, by hash; `names` between backticks in last replies that look like an option, a
  constant, a key or a file; `commands` that did what another of the same program had failed to do.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.answers import LabelledQuestion, parse_question, plain
from benchmarks.layouts import find_projects, read_lines
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import Archive, SessionRecord
from crawler.compress.duties import split_exchanges
from crawler.compress.extractive import compute_max_chars, condense_session
from crawler.facts import SessionFacts, find_command, find_program, gather_facts
from crawler.quotes import session_turns
from crawler.reading.rules import read_by_rules
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.language.words import find_digest_words

KINDS = ("answers", "in a line", "statements", "identifiers", "names", "commits", "commands")
LONG_SESSION = 20_000  # characters; shorter sessions do not count for the share of their digests
ENOUGH_WORDS = 0.7  # of a statement in one line
QUOTED = re.compile(r"`([^`\n]+)`")
NAME = re.compile(
    r"(?<![\w-])(?:--[a-z][a-z-]{2,}|[A-Z][A-Z0-9]*_[A-Z0-9_]+|[a-z]+(?:_[a-z0-9]+)+|[\w-]+\.(?:ya?ml|toml|json|md|env))\b"
)


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a project with what is asked of its digest."""

    project: str
    record: SessionRecord
    turns: Sequence[Turn]
    facts: SessionFacts


Condense = Callable[[Session], str]


def main() -> None:
    """Reads the command line, digests everything three ways, prints the tables and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of all test data")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oneiros-digests-") as folder:
        projects = find_projects(options.data).items()
        sessions = [one for name, place in projects for one in read_sessions(name, place, Path(folder))]
    labelled = Labelled(
        [parse_question(row) for row in read_lines(options.data / "eval/answers.jsonl")],
        [row for row in read_lines(options.data / "dream_real/labels.jsonl") if row["durability"] > 1],
        [row for row in read_lines(options.data / "eval/exact_transcripts.jsonl") if SPOKEN & set(row["occurs_in"])],
    )
    found = {name: measure_projects(condense, sessions, labelled) for name, condense in DIGESTS.items()}
    print_tables(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def read_sessions(project: str, transcripts: Path, scratch: Path) -> Iterator[Session]:
    """The sessions of a project, redacted as they are archived."""
    archive = Archive(scratch / project)
    with Ingester(IngestSettings(scratch / project, scratch / f"{project}.sqlite")) as ingester:
        ingester.ingest([transcripts])
    for session_id in archive.session_ids():
        turns = list(archive.turns(session_id))
        yield Session(project, archive.record(session_id), turns, gather_facts(turns))


def make_digest(session: Session) -> str:
    quotable = session_turns(session.record.session_id, "", session.turns)
    reading = read_by_rules(quotable, session.turns, session.facts, "")
    return condense_session(session.turns, session.facts, session.record, reading).body


def replies(session: Session) -> str:
    """The beginning of the last reply to each request."""
    return beginnings([exchange.reply for exchange in split_exchanges(session.turns)], compute_max_chars(session.facts))


def requests_and_replies(session: Session) -> str:
    """The beginning of each request and of its last reply."""
    texts = [text for exchange in split_exchanges(session.turns) for text in (exchange.request, exchange.reply)]
    return beginnings(texts, compute_max_chars(session.facts))


def beginnings(texts: Sequence[str], max_chars: int) -> str:
    """The texts, a line each, all cut at the greatest length that fits."""
    cut = max_chars
    while cut and sum(len(text[:cut]) + 1 for text in texts) > max_chars:
        cut -= 1
    return "\n".join(text[:cut] for text in texts)


DIGESTS: Mapping[str, Condense] = {
    "digest": make_digest,
    "requests and replies": requests_and_replies,
    "replies": replies,
}
SPOKEN = {"human", "assistant"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """What persons labelled: questions, statements, identifiers."""

    questions: Sequence[LabelledQuestion]
    statements: Sequence[Mapping[str, Any]]
    identifiers: Sequence[Mapping[str, Any]]


def measure_projects(condense: Condense, sessions: Sequence[Session], labelled: Labelled) -> dict[str, dict[str, Any]]:
    """For each project what was kept of what, by kind, and the digests' share of the characters."""
    projects = list(dict.fromkeys(session.project for session in sessions))
    held_of: dict[str, dict[str, list[bool]]] = {project: {kind: [] for kind in KINDS} for project in projects}
    long: dict[str, tuple[int, int]] = dict.fromkeys(projects, (0, 0))
    for session in sessions:
        text = condense(session)
        for kind, held in check_things(text, session, labelled):
            held_of[session.project][kind].append(held)
        if session.facts.chars >= LONG_SESSION:
            digested, chars = long[session.project]
            long[session.project] = digested + len(text), chars + session.facts.chars
    return {
        project: {kind: [sum(held), len(held)] for kind, held in kinds.items()}
        | {"share": long[project][0] / max(long[project][1], 1)}
        for project, kinds in held_of.items()
    }


def check_things(text: str, session: Session, labelled: Labelled) -> Iterator[tuple[str, bool]]:
    """Each thing that the digest of a session should hold, by kind, and whether it does."""
    ids = {session.record.session_id}
    whole, lines = plain(text), text.splitlines()
    words = [set(find_digest_words(line)) for line in lines]
    for one in labelled.questions:
        if one.session in ids:
            yield "answers", one.is_answered_by(text)
            yield "in a line", any(one.is_answered_by(line) for line in lines)
    for row in labelled.statements:
        if row["session"] in ids and (words_of_quote := set(find_digest_words(row["quote"]))):
            yield "statements", any(len(words_of_quote & line) >= ENOUGH_WORDS * len(words_of_quote) for line in words)
    for row in labelled.identifiers:
        if ids & {*row["answer_sessions"], *row["entry_session_ids"]}:
            yield "identifiers", row["query"].lower() in whole
    for commit in session.facts.commits:
        yield "commits", commit.hash in whole
    for name in find_names(session.turns):
        yield "names", name.lower() in whole
    for command in commands_that_worked(session.turns):
        yield "commands", plain(command.rstrip("…")) in whole


def find_names(turns: Sequence[Turn]) -> set[str]:
    """The names that stand between backticks in the last reply before each request, and in the very last."""
    last: list[str] = [""]
    for turn in turns:
        if turn.is_live and turn.role is Role.PERSON:
            last.append("")
        elif turn.is_live and turn.role is Role.ASSISTANT and turn.kind is PartKind.TEXT:
            last[-1] = turn.text
    return {name[0] for text in last for quoted in QUOTED.finditer(text) for name in NAME.finditer(quoted[1])}


def commands_that_worked(turns: Sequence[Turn]) -> Iterator[str]:
    """Commands that succeeded in other words than the last of the same program, which had failed."""
    failed: dict[str, str] = {}
    for turn in turns:
        if turn.tool == "Bash" and turn.is_live and (program := find_program(turn)):
            if turn.is_error:
                failed[program] = find_command(turn)
            elif failed.pop(program, find_command(turn)) != find_command(turn):
                yield find_command(turn)


def print_tables(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """A table a way of digesting, a line a project."""
    for name, projects in found.items():
        print(f"\n{name}\n{'':<20}" + "".join(f"{kind:>13}" for kind in (*KINDS, "share")))
        for project, row in projects.items():
            cells = "".join(f"{row[kind][0]:>7} of {row[kind][1]:<2}" for kind in KINDS)
            print(f"  {project:<18}{cells}{row['share']:>13.4f}")
        totals = [[sum(row[kind][i] for row in projects.values()) for i in (0, 1)] for kind in KINDS]
        print(f"  {'all':<18}" + "".join(f"{count:>7} of {of:<2}" for count, of in totals))


if __name__ == "__main__":
    main()
