"""What the assistant may propose: recorded proposals, good and bad, through the tool that it calls.

    python -m benchmarks.dream_proposals --data ../shared/data [--json FILE] [--list]

*Good*: statements of dream_real/labels.jsonl (durability 2 and 3) that the gate lets pass in the words of their quotes,
with the freedoms that a model takes: other white space, quotation marks and case, ids cut short or left out, a yes left
out; and every tenth as the label words it, which says more than its quote. A refused one is sent again with what the
answer says would pass, as a model does.
*Bad*: the same and others of the same sessions, corrupted in ten ways. None may pass as it is; what the answer offers
in its place is what the person said.
Pages: what a session of 300 turns costs to read.
"""

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.layouts import projects_in, read_lines
from benchmarks.machine import machine_text
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import Archive
from crawler.quotes import SessionTurns
from crawler.transcripts.turns import Role
from dream.evidence import Evidence
from dream.judge.compare import compare
from dream.judge.gate import Gate
from dream.judge.rejections import Rejections
from dream.mcp_tools import DreamDoor, QuoteArgument, StatementArgument, answer_to, evidence_pages
from dream.records import Candidate
from dream.run import Suggested
from dream.statements.acts import Act, clauses_in
from dream.statements.wording import statement_of
from dream.topics import topics_of
from memory_server.language.cues import is_agreement
from memory_server.redaction import Redactor

GOOD, BAD_OF_A_KIND = 100, 30
PASSED = "Asked before", "Proposed"
SUGGESTED = re.compile(r'text ("(?:[^"\\]|\\.)*"), quotes: entry (\S+) ("(?:[^"\\]|\\.)*")')
LONG_TURNS = 300
CHARS_A_TOKEN = 3.5  # of English with ids, at the low end


@dataclass(frozen=True, slots=True)
class Recorded:
    """A proposal as a model would send it, and what is wrong with it, if anything is."""

    kind: str
    statement: StatementArgument


def main() -> None:
    """Reads the command line, sends every proposal, prints a line a kind and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of all test data")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--list", action="store_true", help="print what was refused of the good and passed of the bad")
    options = parser.parse_args()
    print(machine_text())
    with tempfile.TemporaryDirectory(prefix="oneiros-proposals-") as folder, closing(Rejections()) as rejections:
        archive = Path(folder, "archive")
        with Ingester(IngestSettings(archive, Path(folder, "ingest.sqlite"))) as ingester:
            ingester.ingest(list(projects_in(options.data).values()))
        evidence = Evidence(Archive(archive))
        door = door_on(evidence, Archive(archive), Gate(evidence, topics_of({}), rejections, Redactor()))
        labels = [row for row in read_lines(options.data / "dream_real/labels.jsonl") if row["durability"] > 1]
        found = {
            "good": outcomes(door, good_proposals(door, labels), show=options.list),
            "bad": outcomes(door, bad_proposals(door, labels), again=False, show=options.list),
            "labels": {"all": len(labels), "pass in the words of their quotes": len(true_statements(door, labels))},
            "pages": pages_of_long_sessions(evidence, Archive(archive)),
        }
    for name, figures in found.items():
        print(f"{name}: {json.dumps(figures)}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def door_on(evidence: Evidence, archive: Archive, gate: Gate) -> DreamDoor:
    def suggest(candidate: Candidate, _: str) -> Suggested:
        refusals = gate.check(candidate)
        return Suggested(refusals) if refusals else Suggested((), compare(candidate, topics_of({})))

    return DreamDoor(evidence, archive.session_ids, list, lambda _: None, suggest, gate.check)


def outcomes(
    door: DreamDoor, proposals: Sequence[Recorded], *, again: bool = True, show: bool = False
) -> dict[str, Any]:
    """How many pass at once, how many when sent again as the answer says, and how many do not."""
    kinds: dict[str, Counter[str]] = {}
    for one in proposals:
        answer = answer_to(door, one.statement)
        outcome = "passed" if answer.startswith(PASSED) else "refused"
        mended = as_suggested(one.statement, answer) if again and outcome == "refused" else None
        if mended and answer_to(door, mended).startswith(PASSED):
            outcome = "passed when sent again"
        kinds.setdefault(one.kind, Counter())[outcome] += 1
        if show and outcome == ("refused" if again else "passed"):
            print(f"{one.kind}: {one.statement.text} | {one.statement.quotes[0].text} | {answer}")
    return {
        "proposals": len(proposals),
        **sum(kinds.values(), Counter()),
        "kinds": {k: dict(v) for k, v in kinds.items()},
    }


def as_suggested(statement: StatementArgument, answer: str) -> StatementArgument | None:
    """The statement with the words that an answer names."""
    match = SUGGESTED.search(answer)
    if not match:
        return None
    session = statement.quotes[0].session
    quote = QuoteArgument(session=session, entry=match[2], text=json.loads(match[3]))
    return StatementArgument(target=statement.target, text=json.loads(match[1]), quotes=[quote])


# -- good -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Genuine:
    """A labelled statement that the gate lets pass in the words of its quote."""

    row: Mapping[str, Any]
    text: str
    quotes: tuple[QuoteArgument, ...]


def good_proposals(door: DreamDoor, labels: Sequence[Mapping[str, Any]]) -> list[Recorded]:
    """GOOD labelled statements of all projects, each with one of the freedoms in turn."""
    sure = true_statements(door, labels)
    if not sure:
        raise SystemExit("no labelled statement passes in the words of its quote: are its sessions in the data?")
    step = len(sure) / min(GOOD, len(sure))
    chosen = [sure[int(number * step)] for number in range(min(GOOD, len(sure)))]
    return [Recorded(form, FORMS[form](one)) for one, form in zip(chosen, list(FORMS) * GOOD, strict=False)]


def true_statements(door: DreamDoor, labels: Sequence[Mapping[str, Any]]) -> list[Genuine]:
    found = []
    for row in labels:
        for quote, answer in door.evidence.session(row["session"]).quotes(row["entry"] or "", row["quote"]):
            texts = [(quote.entry, quote.text)]
            if quote.role is Role.ASSISTANT and answer is not None:
                texts.append((answer.entries[0], answer.text))
            given = tuple(QuoteArgument(session=row["session"], entry=entry, text=text) for entry, text in texts)
            one = Genuine(row, statement_of(quote.text, quote.time), given)
            if answer_to(door, as_argument(one)).startswith(PASSED):
                found.append(one)
            break
    return found


def as_argument(one: Genuine, *, text: str = "", quotes: Sequence[QuoteArgument] = ()) -> StatementArgument:
    return StatementArgument(target="workflow", text=text or one.text, quotes=list(quotes or one.quotes))


def _with_first(one: Genuine, **changed: str) -> StatementArgument:
    first = one.quotes[0].model_copy(update=changed)
    return as_argument(one, quotes=[first, *one.quotes[1:]])


FORMS: Mapping[str, Callable[[Genuine], StatementArgument]] = {
    "as it stands": as_argument,
    "white space": lambda one: _with_first(one, text="\n".join(one.quotes[0].text.split())),
    "typography": lambda one: _with_first(one, text=one.quotes[0].text.replace("'", "’").replace("-", "–")),
    "in quotation marks": lambda one: _with_first(one, text=f"“{one.quotes[0].text}…”"),
    "case": lambda one: _with_first(one, text=one.quotes[0].text.capitalize()),
    "without markdown": lambda one: _with_first(one, text=re.sub(r"[`*]", "", one.quotes[0].text)),
    "entry cut short": lambda one: _with_first(one, entry=one.quotes[0].entry[:8]),
    "without entry": lambda one: _with_first(one, entry=""),
    "without the yes": lambda one: as_argument(one, quotes=one.quotes[:1]),
    "as the label words it": lambda one: as_argument(one, text=one.row["statement"]),
}


# -- bad --------------------------------------------------------------------------------------------------------------


def bad_proposals(door: DreamDoor, labels: Sequence[Mapping[str, Any]]) -> list[Recorded]:
    """BAD_OF_A_KIND of each kind, from the true statements of all projects in turn."""
    sure = [one for one in true_statements(door, labels) if len(one.text.split()) > 4]
    makers: Mapping[str, Callable[[Genuine, int], StatementArgument]] = {
        "a word of the quote is another": lambda one, n: _with_first(one, text=altered(one.quotes[0].text, n)),
        "of another entry": lambda one, _: _with_first(one, entry=other_entry(door, one)),
        "of another session": lambda one, n: _with_first(one, session=other_session(door, one, sure, n)),
        "says more": lambda one, n: as_argument(one, text=f"{one.text.rstrip('.')} {MORE[n % len(MORE)]}."),
        "another value": lambda one, n: as_argument(one, text=f"{one.text.rstrip('.')} {VALUES[n % len(VALUES)]}."),
        "a name that nobody said": lambda one, n: as_argument(one, text=named(one.text, n)),
        "turned": lambda one, _: as_argument(one, text=turned(one.text)),
        "a secret": lambda one, n: as_argument(one, text=f"{one.text.rstrip('.')}: {SECRETS[n % len(SECRETS)]}"),
    }
    made: list[Recorded] = []
    for kind, make in makers.items():
        for n in range(BAD_OF_A_KIND):
            one = sure[(n * 7 + len(made)) % len(sure)]
            made.append(Recorded(kind, make(one, n)))
    spoken = [door.evidence.session(row["session"]) for row in labels]
    unique = list({session.session_id: session for session in spoken}.values())
    made += [Recorded("without a yes", one) for one in _of_assistant(unique)][:BAD_OF_A_KIND]
    made += [Recorded("a question", one) for one in _questions(unique)][:BAD_OF_A_KIND]
    return made


MORE = (
    "because the customers of the north asked for it", "and never on Fridays", "in every repository of the company",
    "unless the security team objects first", "as was agreed with legal in spring",
)  # fmt: skip
VALUES = ("on port 8443", "since version 9.4.1", "by 2031-05-17", "at 10.11.12.13", "for 90 days")
NAMES = ("Kubernetes", "Postgres", "Margarethe", "Terraform", "Oslo")
SECRETS = (
    "sk-ant-api03-" + "Qx7Lm2Zp9Rt4Vw6Ys1" * 4, "ghp_" + "a8Kd03LmQz91XvTr57Yw" + "B4nC6pH2s8Jf9eUi",
    "AKIAJ5Q7PL2M9ZT4XW6V", "password=Tr0ub4dor&3xkcd",
)  # fmt: skip


def altered(words: str, n: int) -> str:
    """The words with one of them in another's place."""
    parts = words.split(" ")
    place = max(range(len(parts)), key=lambda at: len(parts[at]))
    return " ".join([*parts[:place], NAMES[n % len(NAMES)].lower(), *parts[place + 1 :]])


def named(text: str, n: int) -> str:
    """The text about something with a name that the quote does not hold."""
    return f"{NAMES[n % len(NAMES)]}: {text}" if n % 2 else f"In {NAMES[n % len(NAMES)]}, {text[:1].lower()}{text[1:]}"


def turned(text: str) -> str:
    """The text with its negation taken out, or with one."""
    without = re.sub(r"\b(?:not|never)\s+|n['’]t\b", "", text)
    return without if without != text else f"It is not true that {text[:1].lower()}{text[1:]}"


def other_entry(door: DreamDoor, one: Genuine) -> str:
    spoken = door.evidence.session(one.row["session"]).spoken
    entries = [turn.entries[0] for turn in spoken if one.quotes[0].text not in turn.text]
    return entries[len(entries) // 2]


def other_session(door: DreamDoor, one: Genuine, sure: Sequence[Genuine], n: int) -> str:
    """A session in which nobody says the quote; forks and resumed sessions hold copies."""
    ids: list[str] = sorted({other.row["session"] for other in sure})
    spoken = ((name, door.evidence.session(name).spoken) for name in [*ids[n % len(ids) :], *ids])
    return next(name for name, turns in spoken if not any(one.quotes[0].text in turn.text for turn in turns))


def _of_assistant(sessions: Sequence[SessionTurns]) -> Iterator[StatementArgument]:
    """What the assistant said and the person did not answer with a yes."""
    for session in sessions:
        for turn, answer in zip(session.spoken, session.spoken[1:], strict=False):
            clause = next((c for c in clauses_in(turn.text) if c.act is Act.ASSERTS and len(c.text) > 40), None)
            is_answered = answer.role is Role.PERSON and is_agreement(answer.text)
            if turn.role is Role.ASSISTANT and clause and not is_answered and answer.role is Role.PERSON:
                quote = QuoteArgument(session=session.session_id, entry=turn.entries[0], text=clause.text)
                yield StatementArgument(target="workflow", text=statement_of(clause.text, None), quotes=[quote])
                break


def _questions(sessions: Sequence[SessionTurns]) -> Iterator[StatementArgument]:
    """What the person asked, as if they had stated it."""
    for session in sessions:
        for turn in session.spoken:
            clauses = clauses_in(turn.text) if turn.role is Role.PERSON else ()
            asked = [c for c in clauses if c.act is Act.ASKS and c.text.endswith("?") and 20 < len(c.text) < 150]
            if asked:
                text = asked[0].text
                quote = QuoteArgument(session=session.session_id, entry=turn.entries[0], text=text)
                yield StatementArgument(target="workflow", text=f"{text.rstrip('?')}.", quotes=[quote])
                break


# -- pages ------------------------------------------------------------------------------------------------------------


def pages_of_long_sessions(evidence: Evidence, archive: Archive) -> dict[str, Any]:
    """What the longest sessions cost to read; a session of LONG_TURNS turns is made of the longest, said over again."""
    sessions = sorted((evidence.session(name) for name in archive.session_ids()), key=lambda one: len(one.spoken))
    longest = sessions[-1]
    made = replace(longest, turns=(longest.spoken * (LONG_TURNS // max(len(longest.spoken), 1) + 1))[:LONG_TURNS])
    rows = {}
    for name, session in (("the longest", longest), (f"of {LONG_TURNS} turns", made)):
        pages = list(evidence_pages([session]))
        chars = sum(len(page) for page, _ in pages)
        rows[name] = {"turns": len(session.spoken), "pages": len(pages), "tokens": round(chars / CHARS_A_TOKEN)}
    return rows


if __name__ == "__main__":
    main()
