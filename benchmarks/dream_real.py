"""What dream offers on real sessions, against what a reader of them would keep and what not.

A proposal matches a label where session and entry are the same and the quotes overlap: one holds the other, or they
share a run of `RUN` characters that is half of the shorter one. Session and quote are enough for words of the
assistant, and for words from the queue, whose records have no id. A habit is matched at any of its places.

precision  proposals that match a label of durability 2 or 3 / those offered, without those of durability 1 alone
judged     the same where what has no label counts as `dream_judged.jsonl` says; not read means not kept
recall     labels matched / labels, of durability 3 and of 2 and 3
negatives  hard negatives that a proposal takes up / all of them
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dream_beam import SEED, share
from benchmarks.intake import rows
from benchmarks.titles import bad_titles_of
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import Archive
from crawler.quotes import Quote, SessionTurns
from dream.evidence import Evidence
from dream.extract import Finder, lessons_from, mistakes_in
from dream.extract.scorer import Embed, Scorer, embedder_of
from dream.judge.compare import compare, is_worth_asking
from dream.judge.gate import Gate
from dream.judge.rejections import Rejections
from dream.records import Candidate, identity_of
from dream.run import Extractor
from dream.topics import topics_of
from memory_server.embedding.catalogue import packaged_model
from memory_server.embedding.engine import Vectors
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.redaction import Redactor

RUN = 12
RESAMPLES = 1_000  # of the sessions, for the intervals
JUDGED = Path(__file__).with_name("dream_judged.jsonl")  # offered without a label on projects left out, read blind
BINS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 1.01)  # of confidence, for the table of reliability
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Labels:
    """What a reader would keep, and sentences that look like it and are not."""

    keep: Sequence[Row]
    negatives: Sequence[Row]

    @classmethod
    def read(cls, labels: Path, negatives: Path) -> "Labels":
        return cls(list(rows(labels)), list(rows(negatives)))

    def of(self, corpus: str) -> "Labels":
        """Those of one project."""
        return Labels(
            [row for row in self.keep if row["corpus"] == corpus],
            [row for row in self.negatives if row["corpus"] == corpus],
        )

    @property
    def corpora(self) -> list[str]:
        return sorted({row["corpus"] for row in self.keep})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What labels say of one proposal."""

    durability: int  # the highest of the labels it matches; 0 where there is none
    labels: frozenset[str]  # their ids
    negatives: frozenset[str]  # ids of the hard negatives it takes up

    @property
    def is_counted(self) -> bool:
        return self.durability != 1


def verdict_on(quotes: Sequence[Quote], labels: Labels) -> Verdict:
    """What labels say of a proposal that rests on these quotes."""
    mine = [row for row in labels.keep if any(_is_at(quote, place) for quote in quotes for place in _places(row))]
    against = [row for row in labels.negatives if any(_is_at(quote, _place(row)) for quote in quotes)]
    durability = max((row["durability"] for row in mine), default=0)
    return Verdict(
        durability,
        frozenset(row["id"] for row in mine),
        frozenset() if mine else frozenset(row["id"] for row in against),
    )


Place = tuple[str, str | None, str]  # session, entry where it decides, quote


def _place(row: Row) -> Place:
    return row["session"], row.get("entry"), row["quote"]


def _places(label: Row) -> Iterator[Place]:
    is_agreed = label["role"] == "agreed"
    yield label["session"], None if is_agreed else label.get("entry"), label["quote"]
    if is_agreed and len(_plain(label["agreed_quote"])) >= RUN:
        yield label["session"], label.get("agreed_entry"), label["agreed_quote"]
    yield from (_place(other) for other in label.get("entries", ()))


def _is_at(quote: Quote, place: Place) -> bool:
    session, entry, words = place
    return quote.session_id == session and entry in (None, quote.entry) and overlaps(quote.text, words)


def overlaps(one: str, other: str) -> bool:
    """Whether two quotes of one entry share enough characters."""
    one, other = _plain(one), _plain(other)
    if not one or not other or one in other or other in one:
        return bool(one and other)
    found = SequenceMatcher(None, one, other, autojunk=False).find_longest_match()
    return found.size >= RUN and found.size * 2 >= min(len(one), len(other))


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


# -- sessions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Project:
    """The sessions of one project."""

    corpus: str
    evidence: Evidence
    archive: Archive

    def sessions(self) -> Iterator[SessionTurns]:
        return map(self.evidence.session, self.archive.session_ids())


def source_of(data: Path, corpus: str) -> Path:
    """Where the sessions of a project lie: its name, or the end of it, is a path below `data`; else `data` itself."""
    parts = corpus.split("/")
    tails = [data.joinpath(*parts[start:]) for start in range(len(parts))]
    return next((tail for tail in (*tails, data.parent.joinpath(*parts)) if tail.is_dir()), data)


def take_in(source: Path, corpus: str, folder: Path) -> Project:
    """Reads the transcripts of one project."""
    name = corpus.replace("/", "-")
    settings = IngestSettings(archive=folder / name / "archive", state=folder / name / "ingest.sqlite")
    with Ingester(settings) as ingester:
        ingester.ingest([source])
    archive = Archive(settings.archive)
    return Project(corpus, Evidence(archive), archive)


def embed_packaged() -> Embed | None:
    """The packaged model as the scorer wants it, each text once; None where it is not installed."""
    files = packaged_model()
    if files is None:
        return None
    embed, known = embedder_of(lambda: OnnxEngine(files)), dict[str, Vectors]()

    def remembered(texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, embed(new), strict=True))
        return np.array([known[text] for text in texts])

    return remembered


def offered(project: Project, find: Extractor) -> list[Candidate]:
    """What dream would show a person of a project whose topics are empty, each once, in the order of the sessions."""
    topics = topics_of({})
    gate = Gate(project.evidence, topics, Rejections(), Redactor())
    found: dict[str, Candidate] = {}
    mistakes = []
    for session in project.sessions():
        candidates = find(session)
        mistakes += mistakes_in(session, candidates)
        for candidate in candidates:
            found.setdefault(identity_of(candidate.quotes, ""), candidate)
    for lesson in lessons_from(mistakes):
        found.setdefault(identity_of(lesson.quotes, ""), lesson)
    worthy = (one for one in found.values() if is_worth_asking(compare(one, topics)))
    return [one for one in worthy if not gate.check(one)]


# -- figures --------------------------------------------------------------------------------------------------------

Offer = tuple[Candidate, Verdict]


def measure_real(data: Path, labels: Labels, folder: Path) -> dict[str, Any]:
    """The figures of the format `real`, by the weights that the program ships."""
    finder = Finder(Scorer(embed_packaged()))
    whose = {row["session"]: row["corpus"] for row in (*labels.negatives, *labels.keep)}
    sources = {source_of(data, corpus): corpus for corpus in labels.corpora}
    offers: dict[str, list[Offer]] = {corpus: [] for corpus in labels.corpora}
    titles: list[bool] = []
    for source, corpus in sources.items():
        project = take_in(source, corpus, folder)
        titles += bad_titles_of(project.archive)
        for one in offered(project, finder):
            found = whose.get(one.quotes[0].session_id, corpus)
            offers[found if source_of(data, found) == source else corpus].append((one, verdict_on(one.quotes, labels)))
    return {**figures_of(offers, labels), "bad_titles": share(sum(titles), len(titles))}


def figures_of(offers: Mapping[str, Sequence[Offer]], labels: Labels) -> dict[str, Any]:
    """All figures: of everything together, and of each project."""
    every = [offer for found in offers.values() for offer in found]
    return {
        **rates_of(every, labels),
        "intervals": intervals_of(every, labels),
        "per_project": {corpus: rates_of(found, labels.of(corpus)) for corpus, found in offers.items()},
        "calibration": [
            {"from": low, "offered": len(inside), "kept": share(sum(is_kept(one) for _, one in inside), len(inside))}
            for low, high in pairwise(BINS)
            if (inside := [(c, v) for c, v in every if low <= c.confidence < high and v.is_counted])
        ],
        "without_label": [
            {"session": one.quotes[0].session_id, "entry": one.quotes[0].entry, "quote": one.quotes[0].text}
            for one, verdict in every
            if not verdict.durability and not verdict.negatives
        ],
    }


def is_kept(verdict: Verdict) -> bool:
    return verdict.durability >= 2


def rates_of(offers: Sequence[Offer], labels: Labels) -> dict[str, Any]:
    """How many are offered, how many of them and of the labels agree."""
    verdicts = [verdict for _, verdict in offers]
    counted = [verdict for verdict in verdicts if verdict.is_counted]
    found = frozenset[str]().union(*(verdict.labels for verdict in verdicts))
    wrong = frozenset[str]().union(*(verdict.negatives for verdict in verdicts))

    def recall(durability: int) -> float | None:
        wanted = [row["id"] for row in labels.keep if row["durability"] >= durability]
        return share(sum(name in found for name in wanted), len(wanted))

    return {
        "offered": len(offers),
        "precision": share(sum(map(is_kept, counted)), len(counted)),
        "recall_3": recall(3),
        "recall_23": recall(2),
        "judged_precision": share(sum(map(is_kept, counted)) + _judged_kept(offers), len(counted)),
        "negatives_offered": share(len(wrong), len(labels.negatives)),
        "hard_negatives": sum(bool(verdict.negatives) for verdict in verdicts),
    }


def _judged_kept(offers: Sequence[Offer]) -> int:
    """How many of those without a label a reader would keep who saw them without knowing which are labelled."""
    kept = {(row["session"], row["quote"]) for row in rows(JUDGED) if row["keep"]}
    told = [one.quotes[0] for one, verdict in offers if not verdict.durability and not verdict.negatives]
    return sum((quote.session_id, quote.text) in kept for quote in told)


def intervals_of(offers: Sequence[Offer], labels: Labels) -> dict[str, list[float]]:
    """90 % of the figures when the sessions are drawn anew, with returning."""
    by_session = defaultdict(list)
    for candidate, verdict in offers:
        by_session[candidate.quotes[0].session_id].append((candidate, verdict))
    names = sorted({row["session"] for row in labels.keep} | set(by_session))
    at = {name: Labels([row for row in labels.keep if row["session"] == name], []) for name in names}
    dice = random.Random(SEED)  # noqa: S311  a bootstrap, not secrecy
    drawn = []
    for _ in range(RESAMPLES):
        chosen = dice.choices(names, k=len(names))
        counted = [verdict for name in chosen for _, verdict in by_session[name] if verdict.is_counted]
        found = {label for name in chosen for _, verdict in by_session[name] for label in verdict.labels}
        wanted = [row["id"] for name in chosen for row in at[name].keep if row["durability"] == 3]
        drawn.append(
            (share(sum(map(is_kept, counted)), len(counted)), share(sum(n in found for n in wanted), len(wanted)))
        )
    figures = {"precision": sorted(one for one, _ in drawn), "recall_3": sorted(two for _, two in drawn)}
    return {name: [values[RESAMPLES // 20], values[-RESAMPLES // 20]] for name, values in figures.items()}
