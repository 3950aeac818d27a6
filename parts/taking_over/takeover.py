"""Takes over what a person wrote down in files: statements, as one proposal, in the topics of their subjects.

Nothing is offered twice: not what a topic says, not what was offered in whatever way it was decided, not the same said
in two files. Where a file says something else now than what was taken over from it, that is offered in the old one's
place. Every statement passes the gate with the file as its evidence; the files are read and never changed.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from crawler.reading.rules import find_signs
from dream.decisions.accept import Decisions
from dream.evidence import Evidence, holds
from dream.judge.compare import compare, find_known
from dream.judge.filing import MAX_NAME, MOST_PLAIN
from dream.judge.gate import Gate
from dream.judge.rejections import Rejections
from dream.records import Candidate, Hunk, Kind, Place, Relation, State, Update, Written, split_words
from dream.topics import Topics, build_topics, read_topics, statement_spans
from memory_server.document import LineRange
from memory_server.language.words import content_words
from memory_server.machine.clock import local_day
from memory_server.redaction import Redactor
from parts.taking_over.cutting import Lead, Passage, bare_lead, cut, cut_decision
from parts.taking_over.duplicates import Embed, same_as_earlier
from parts.taking_over.instructions import WrittenFile

NAME = "written"  # the extractor, as a hunk names it
CONFIDENCE = 0.9  # a person wrote it to be followed
SUBSTANCE = 2  # statements under a heading, from which on it is a topic; one alone goes into the project's own
NUMBERING = re.compile(r"^(?:(?:rule|step|part|section|phase)\s+)?\d+(?:\.\d+)*\s*[.):\-–—]*\s+(?=\S)", re.IGNORECASE)
MARKS = re.compile(r"[`*_#$<>\"]|[^\w\s&/+.:,'()@-]")
SAME_SUBJECT = 0.6  # share of the shorter one's words that make one statement the new wording of another


@dataclass(slots=True)
class TakenOver:
    """What one run did."""

    files: int = 0
    statements: int = 0  # that the files make
    left_out: int = 0  # blocks that are no statement: code, tables, pointers to elsewhere
    known: int = 0  # topics say it, or it was offered before
    duplicates: int = 0  # another of the files says the same
    changed: int = 0  # offered in the place of what a file said before
    refused: dict[str, int] = field(default_factory=dict)  # by the gate, by reason
    refused_at: list[str] = field(default_factory=list)  # file and line of each, and why
    updates: list[Update] = field(default_factory=list)
    proposal: str = ""  # the name of the new one; empty where there is none


class Takeover:
    """Takes files over into the proposals of one memory. `embed`: vectors, where a model is at hand."""

    def __init__(
        self,
        decisions: Decisions,
        evidence: Evidence,
        redactor: Redactor,
        *,
        now: Callable[[], dt.datetime],
        embed: Embed | None = None,
    ):
        self._decisions = decisions
        self._evidence = evidence
        self._redactor = redactor
        self._now = now
        self._embed = embed

    def run(self, files: Sequence[WrittenFile], *, dry: bool = False) -> TakenOver:
        """Offers what the files say. `dry`: only says what would be offered."""
        report, topics = TakenOver(files=len(files)), read_topics(self._decisions.root)
        hunks = self._decisions.store.hunks()
        offered = [hunk.update.candidate for hunk in hunks]
        known_words = {(one.project, *split_words(text)) for one in offered for text in (one.text, _find_wording(one))}
        fresh = [one for one in _candidates(files, report) if (one.project, *split_words(one.text)) not in known_words]
        report.known = report.statements - len(fresh)
        texts = {file.shown: file.text for file in files}
        gone = [hunk for hunk in hunks if _has_left_file(hunk, texts)]
        fresh = self._distinct(fresh, [hunk for hunk in hunks if hunk not in gone], report)
        changed = dict(_replacements(fresh, gone, topics))
        report.updates = list(self._passing(fresh, changed, topics, report))
        if not dry:
            with self._decisions.hold_lock():
                report.proposal = self._decisions.queue.propose(report.updates, local_day(self._now()))
        return report

    def _distinct(self, fresh: list[Candidate], before: list[Hunk], report: TakenOver) -> list[Candidate]:
        """Each statement of a project once: not what was offered of it `before`, by hunks, nor what is the person's."""
        distinct = list[Candidate]()
        for project in sorted({one.project for one in fresh}):  # the person's own, which has none, comes first
            ours, near = [one for one in fresh if one.project == project], ("", project)
            offered = [_find_wording(one) for hunk in before if (one := hunk.update.candidate).project in near]
            texts = [*offered, *(one.text for one in distinct if one.project in near)]
            same = same_as_earlier([*texts, *(one.text for one in ours)], self._embed)[len(texts) :]
            distinct += [one for one, earlier in zip(ours, same, strict=True) if earlier is None]
            places = [earlier for earlier in same if earlier is not None]
            report.known += sum(earlier < len(offered) for earlier in places)
            report.duplicates += sum(earlier >= len(offered) for earlier in places)
        return distinct

    def _passing(
        self, fresh: Sequence[Candidate], changed: dict[str, Place], topics: Topics, report: TakenOver
    ) -> Iterator[Update]:
        refused: Counter[str] = Counter()
        with closing(Rejections(self._decisions.rejections())) as rejections:
            gates = [Gate(self._evidence, known, rejections, self._redactor) for known in (topics, build_topics({}))]
            for one in fresh:
                place = changed.get(one.text)
                if place is None and find_known(one, topics):
                    report.known += 1
                elif refusals := gates[place is not None].check(one):
                    refused.update({str(refusals[0].reason): 1})
                    report.refused_at.append(f"{one.given[0].describe_place('')}: {refusals[0].what}")
                elif place is not None:
                    report.changed += 1
                    yield Update(one, Relation.SUPERSEDES, place, f"{place.target}: its file says this now.")
                elif (update := compare(one, topics)).relation is Relation.KNOWN:
                    report.known += 1
                else:
                    yield update
        report.refused = dict(refused)


def _candidates(files: Sequence[WrittenFile], report: TakenOver) -> Iterator[Candidate]:
    for file in files:
        found = cut_decision(file.text) if file.is_decision else cut(file.text)
        report.left_out += found.left_out
        report.statements += len(found.passages)
        held = Counter(name_subject(passage) for passage in found.passages)
        yield from (_candidate(file, passage, held[name_subject(passage)]) for passage in found.passages)


def name_subject(passage: Passage) -> str:
    """The topic that a file's own headings name: the highest above a statement, without numbering and marks."""
    return clean_heading(passage.sections[0]) if passage.sections else ""


def clean_heading(heading: str) -> str:
    """A heading without numbering and marks; empty where it is too long for a name, or none."""
    bare = " ".join(MARKS.sub(" ", NUMBERING.sub("", heading.strip())).split()).strip(" :.,-–—")
    return bare if len(bare) <= MAX_NAME and any(map(str.isalpha, bare)) else ""


def _candidate(file: WrittenFile, passage: Passage, together: int) -> Candidate:
    """A passage as a candidate; `together`: how many statements of its file stand under the same subject."""
    lead, subject = passage.lead, name_subject(passage)
    sources: list[Passage | Lead] = [passage, lead] if lead else [passage]
    text = f"{bare_lead(lead)}: {passage.text}" if lead else passage.text
    is_rule = any(find_signs(passage.text, "offer", is_persons=True))
    kind = Kind.DECISION if file.is_decision else Kind.RULE if is_rule else Kind.FACT
    under = f" under {passage.headings[-1]}" if passage.headings else ""
    return Candidate(
        text,
        kind,
        quotes=(),
        confidence=CONFIDENCE,
        why=f"written in {file.path.name}{under}",
        extractor=NAME,
        project=file.project,
        topic=subject if together >= SUBSTANCE else "",
        section=clean_heading(passage.sections[-1]) if len(passage.sections) > 1 and together > MOST_PLAIN else "",
        context=" > ".join(passage.headings),
        given=tuple(Written(file.shown, one.line, one.text, file.find_day(one.line)) for one in sources),
    )


def _replacements(fresh: Sequence[Candidate], gone: Sequence[Hunk], topics: Topics) -> Iterator[tuple[str, Place]]:
    """Which new statement stands where a file held one that was taken over: its text, and the place of the old one."""
    for hunk in (one for one in gone if one.state is State.ACCEPTED):
        rivals = [one for one in fresh if _find_file(one) == hunk.file]
        was = _find_wording(hunk.update.candidate)
        best = max(rivals, key=lambda one: _measure_overlap(one.text, was), default=None)
        if best and _measure_overlap(best.text, was) >= SAME_SUBJECT and (place := _find_place(hunk, topics)):
            yield best.text, place


def _has_left_file(hunk: Hunk, texts: dict[str, str]) -> bool:
    """Whether the file that a hunk is from no longer holds its words."""
    words = [one for one in hunk.update.candidate.given if isinstance(one, Written)]
    return bool(words) and words[0].file in texts and not holds(texts[words[0].file], words[0].text)


def _find_wording(candidate: Candidate) -> str:
    """A statement as its file has it, the leading line ahead; one of a session in the words of its reader."""
    return " ".join(one.text for one in reversed(candidate.given)) or candidate.text


def _find_file(candidate: Candidate) -> str:
    return next((one.file for one in candidate.given if isinstance(one, Written)), "")


def _measure_overlap(one: str, other: str) -> float:
    ours, theirs = set(content_words(one)), set(content_words(other))
    return len(ours & theirs) / max(1, min(len(ours), len(theirs)))


def _find_place(hunk: Hunk, topics: Topics) -> Place | None:
    """Where a hunk's statement stands today; None where its topic no longer says it in these words."""
    topic = topics.file(hunk.target)
    sentences = {" ".join(hunk.text[a:b].split()) for a, b in statement_spans(hunk.text)}
    there = [one for one in topic.statements if one.text in sentences] if topic else []
    if topic is None or not there:
        return None
    lines = LineRange(there[0].lines.first, there[-1].lines.last)
    old = "".join(topic.lines[lines.first - 1 : lines.last])
    return Place(
        hunk.target,
        lines.first - 1,
        replaces=lines,
        old_text=old,
        kept_before=there[0].before,
        kept_after=there[-1].after,
    )
