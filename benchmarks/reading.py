"""Measures readings: what a reader of sessions offers, how much of it is worth keeping, and how much it misses.

    python -m benchmarks.reading --data DIR... --labels FILE... --negatives FILE... [--recorded DIR] --json [FILE]
    python -m benchmarks.reading --data DIR... --labels FILE... --negatives FILE... --reader rules --json [FILE]

Every folder of `--data` (transcripts, plain or .xz, at any depth) is one project and taken into an archive of its own.
What reads is rules, or a model through the door that the program has: `--reader claude-cli` runs `claude`, with
`--recorded` the answers of such a run are replayed, by the whole prompt (a folder of NNNN.prompt.txt and
NNNN.answer.txt, or recording.jsonl.xz) and else session by session, which is said. What is read passes what the program
has behind it: what a later line took back is left out, the gate proves the rest, and it is compared with a memory
without topics. Without `--recorded` and `--reader` the recording beside this file is replayed.

offered             candidates that pass, without findings
precision           of these that match a label of durability 2 or 3 / those offered, without those of durability 1
recall_3, recall_23 labels matched by them or by a finding / labels, of durability 3 and of 2 and 3
findings_precision  findings that match a label / those offered in sessions with a labelled finding
findings_recall     labelled findings matched / all of them; findings_wrong: those offered that did not hold
refused             what the gate turned down of what was read for good; refused_wrongly: those that match a label of
                    2 or 3, as a share of all that do
tokens_per_session  of the prompt, instructions shared: median and most
taken_back_offered  offered that match a negative or finding which was taken back
titles_bad          share of titles that hold none of the words of `title_subjects.tsv`, or are bare
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.labels import Labels, Row, group_by_session, interval, judge_quotes, matching, share
from benchmarks.machine import machine_text
from benchmarks.recorded import build_reader, load_unread, read_all
from benchmarks.titles import is_bad, read_subjects
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import Archive
from crawler.model.client import ModelClient
from crawler.reading.record import Reading
from crawler.reading.repeats import group_habits
from dream.candidates import find_taken_back, make_candidates, settle
from dream.evidence import Evidence
from dream.judge.compare import compare, is_worth_asking
from dream.judge.gate import Gate, Refusal
from dream.judge.rejections import Rejections
from dream.records import Candidate, Kind
from dream.topics import build_topics
from memory_server.redaction import Redactor

HERE = Path(__file__).parent / "readings"
SETTLED_ON = ("entireio-skills", "claude-code-log")  # the prompt was read with these in view
WORDS_OF_TAKEN_BACK = ("taken back", "withdrawn", "withdrew", "retract", "reverted", "superseded", "later")


def main() -> None:
    """Reads the command line, has every session read, prints the figures and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders of transcripts, one a project")
    parser.add_argument("--labels", type=Path, nargs="+", required=True)
    parser.add_argument("--negatives", type=Path, nargs="+", required=True)
    parser.add_argument("--findings", type=Path, default=HERE / "findings.jsonl")
    parser.add_argument("--findings-wrong", type=Path, default=HERE / "findings_wrong.jsonl")
    parser.add_argument("--recorded", type=Path, help="a folder of prompts and answers")
    parser.add_argument("--reader", choices=["rules", "claude-cli"], help="who reads; else a recording")
    parser.add_argument("--list", action="store_true", help="print what is offered, missed and refused")
    parser.add_argument("--json", type=Path, nargs="?", const=Path("-"), help="where to write the figures")
    options = parser.parse_args()

    labels = Labels.read(options.labels, options.negatives, options.findings, options.findings_wrong)
    projects = []
    with tempfile.TemporaryDirectory(prefix="oneiros-reading-") as folder:
        client = build_reader(options.reader, options.recorded, Path(folder))
        for source in options.data:
            projects.append(read_project(source, client, Path(folder)))
        remark = getattr(client, "summary", "")
    figures = {
        "all": compute_figures(projects, labels),
        "left_out": compute_figures([one for one in projects if not one.is_settled_on], labels),
        "per_project": {one.name: compute_figures([one], labels) for one in projects},
    }
    if options.list:
        for line in list_lines(projects, labels):
            sys.stdout.write(f"{line}\n")
    sys.stderr.write(f"{machine_text()}\n{remark}\n")
    text = json.dumps(figures, indent=1)
    if options.json and str(options.json) != "-":
        options.json.write_text(text + "\n", encoding="utf-8")
    else:
        sys.stdout.write(text + "\n")


# -- what is read ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Project:
    """The readings of one project and what becomes of them."""

    name: str
    readings: Mapping[str, Reading]
    offered: list[Candidate]
    refused: list[tuple[Candidate, Sequence[Refusal]]]
    with_words: frozenset[str]  # sessions in which a person spoke
    is_settled_on: bool  # whether the prompt was read with it in view


def read_project(source: Path, client: ModelClient | None, folder: Path) -> Project:
    """Takes the sessions of a project in, has them read, and gathers what would be offered of them."""
    name = source.name
    place = folder / f"{len(list(folder.iterdir()))}-{name}"
    settings = IngestSettings(archive=place / "archive", state=place / "sessions.db")
    with Ingester(settings) as ingester:
        ingester.ingest([source])
    archive = Archive(settings.archive)
    unread = load_unread(archive)
    readings = read_all(client, unread, place)
    every = list(readings.values())
    gone, habits = find_taken_back(every), group_habits(every)
    evidence, topics = Evidence(archive), build_topics({})
    gate = Gate(evidence, topics, Rejections(), Redactor())
    offered, refused = dict[tuple[Any, ...], Candidate](), []
    for one in unread:
        session = evidence.session(one.session.session_id)
        for candidate in make_candidates(readings[session.session_id], session, gone=gone, habits=habits):
            settled, refusals = settle(candidate, session, gate.check)
            if refusals:
                refused.append((candidate, refusals))
            elif is_worth_asking(compare(settled, topics)):
                offered.setdefault((settled.quotes[0].mark, settled.text), settled)
    with_words = frozenset(one.session.session_id for one in unread if any(t.is_prompt for t in one.session.turns))
    return Project(name, readings, list(offered.values()), refused, with_words, name in SETTLED_ON)


# -- figures --------------------------------------------------------------------------------------------------------


def compute_figures(projects: Sequence[Project], labels: Labels) -> dict[str, Any]:
    """All figures of some projects together."""
    sessions = frozenset(name for one in projects for name in one.readings)
    own = labels.of(sessions)
    every = [candidate for one in projects for candidate in one.offered]
    offers = [(one, judge_quotes(one.quotes, own)) for one in every if one.kind is not Kind.FINDING]
    counted = [(one, verdict) for one, verdict in offers if verdict.is_counted]
    found = frozenset[str]().union(*(judge_quotes(one.quotes, own).labels for one in every))
    findings = [one for one in every if one.kind is Kind.FINDING]
    looked_at = {row["session"] for row in (*own.findings, *own.wrong)}
    judged = [one for one in findings if one.quotes[0].session_id in looked_at]
    hits = {row["id"] for one in every for row in matching(one.quotes, own.findings)}
    refused = [candidate for one in projects for candidate, _ in one.refused]
    good_refused = [one for one in refused if judge_quotes(one.quotes, own).is_kept]
    good = [one for one, verdict in offers if verdict.is_kept]
    by_model = [one for project in projects for one in project.readings.values() if one.input_tokens]
    return {
        "sessions": len(sessions),
        "offered": len(offers),
        "precision": share(sum(verdict.is_kept for _, verdict in counted), len(counted)),
        "precision_90": interval(
            group_by_session((one.quotes[0].session_id, (int(v.is_kept), 1)) for one, v in counted)
        ),
        "recall_3": recall(own.keep, found, 3),
        "recall_3_90": recall_interval(own.keep, found, 3),
        "recall_23": recall(own.keep, found, 2),
        "recall_23_90": recall_interval(own.keep, found, 2),
        "negatives_offered": sum(bool(verdict.negatives) for _, verdict in offers),
        "findings_offered": len(findings),
        "findings_precision": share(sum(bool(matching(one.quotes, own.findings)) for one in judged), len(judged)),
        "findings_recall": share(len(hits), len(own.findings)),
        "findings_wrong": sum(bool(matching(one.quotes, own.wrong)) for one in every),
        "refused": len(refused),
        "refused_wrongly": share(len(good_refused), len(good_refused) + len(good)),
        "refused_by": dict(Counter(str(r.reason) for one in projects for _, rs in one.refused for r in rs)),
        "unfounded": sum(len(one.unfounded) for project in projects for one in project.readings.values()),
        "tokens_per_session": {
            "median": median(one.input_tokens for one in by_model) if by_model else 0,
            "most": max((one.input_tokens for one in by_model), default=0),
            "written": round(sum(one.output_tokens for one in by_model) / max(1, len(by_model))),
        },
        "taken_back_offered": sum(bool(taken_back_rows(one, own)) for one in every),
        "titles_bad": bad_titles(projects),
    }


def recall(rows: Sequence[Row], found: frozenset[str], durability: int) -> float | None:
    wanted = [row["id"] for row in rows if row["durability"] >= durability]
    return share(sum(name in found for name in wanted), len(wanted))


def recall_interval(rows: Sequence[Row], found: frozenset[str], durability: int) -> list[float | None]:
    wanted = [row for row in rows if row["durability"] >= durability]
    return interval(group_by_session((row["session"], (int(row["id"] in found), 1)) for row in wanted))


def taken_back_rows(candidate: Candidate, labels: Labels) -> list[Row]:
    """What a candidate takes up of what was withdrawn."""
    withdrawn = [row for row in labels.negatives if any(word in row["why_not"] for word in WORDS_OF_TAKEN_BACK)]
    is_good = judge_quotes(candidate.quotes, labels).durability
    return matching(candidate.quotes, labels.wrong) + ([] if is_good else matching(candidate.quotes, withdrawn))


def bad_titles(projects: Sequence[Project]) -> float | None:
    subjects = read_subjects()
    titles = [(name, one.readings[name].title) for one in projects for name in one.with_words]
    return share(sum(is_bad(title, subjects.get(name[:8])) for name, title in titles), len(titles))


def list_lines(projects: Sequence[Project], labels: Labels) -> Iterator[str]:
    """What is offered with its verdict, what is missed, what is refused and why: to be read by eye."""
    for project in projects:
        own = labels.of(frozenset(project.readings))
        found = frozenset[str]()
        for one in project.offered:
            verdict = judge_quotes(one.quotes, own)
            found |= verdict.labels
            is_right = bool(matching(one.quotes, own.findings)) if one.kind is Kind.FINDING else verdict.durability
            sign = "N" if verdict.negatives else "W" if matching(one.quotes, own.wrong) else str(int(is_right))
            yield f"{project.name} {sign} {one.kind}: {one.text}  | {one.quotes[0].text[:80]!r}"
        for candidate, refusals in project.refused:
            worth = judge_quotes(candidate.quotes, own).durability
            reasons = " ".join(refusal.what for refusal in refusals)
            quoted = repr(candidate.quotes[0].text[:80])
            yield f"{project.name} REFUSED {worth} {candidate.kind}: {candidate.text}  | {quoted} | {reasons}"
        for row in own.keep:
            if row["durability"] >= 2 and row["id"] not in found:
                yield f"{project.name} MISSED {row['durability']} {row['type']}: {row['statement']}"


if __name__ == "__main__":
    main()
