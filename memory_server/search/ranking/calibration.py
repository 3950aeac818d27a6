"""What an unrelated question looks like in an index: the scales by which all scores are read.

Learnt at the end of every reindex from the probe questions, and from some of its own passages asked by their first
words, as a function of what the index holds and of nothing else, so that an index built anew has the same scales. All
that reads a scaled score was fitted to one model; those of a model that tells less apart are stretched.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.engine import Embedded, Vectors
from memory_server.index.ledger import Ledger
from memory_server.index.snapshot import Snapshot
from memory_server.language.words import Stemmer
from memory_server.search.ranking.arms import best_first
from memory_server.search.ranking.scoring import (
    CALIBRATION_FORMAT,
    CALIBRATION_NOTE,
    LEAST_UNIT,
    Calibration,
    Places,
    Scale,
    compute_matches,
    token_weights,
)
from memory_server.search.ranking.terms import list_terms, question_terms

# No memory of software work answers these. Changing one changes every score: rebuild afterwards.
PROBES = tuple(
    line.strip()
    for line in """
    What is the boiling point of ethanol at sea level?
    Who painted the ceiling of the Sistine Chapel?
    How do bees communicate the location of flowers?
    What are the rules for castling in chess?
    How is champagne different from prosecco?
    Which river flows through Budapest?
    How many bones does an adult human skeleton have?
    What caused the fall of the Western Roman Empire?
    How do I prune an apple tree in winter?
    What is the capital of Mongolia?
    How does a catalytic converter work?
    When was the printing press invented?
    What is the offside rule in football?
    How long does it take light to travel from the Sun?
    Which spices go into garam masala?
    How do whales sleep without drowning?
    What is the difference between a crocodile and an alligator?
    Who wrote the opera The Magic Flute?
    How do you treat a mild sunburn?
    What does a sommelier do?
    How are diamonds formed in the mantle?
    What is the tallest mountain in South America?
    How do tax brackets work for married couples?
    Why do leaves change colour in autumn?
    What is the plot of Moby Dick?
    How do you tune a violin?
    What was the Marshall Plan?
    How is steel made from iron ore?
    Which vitamin prevents scurvy?
    How do glaciers carve valleys?
    What time zone is Iceland in?
    How do you fold a paper crane?
    What are the stages of a butterfly's life?
    Who was the first woman to win a Nobel Prize?
    How does insulin regulate blood sugar?
    What is the best way to remove rust from cast iron?
    How do vaccines produce immunity?
    What is a sonnet's rhyme scheme?
    How far is it from Lisbon to Madrid by train?
    Which planets have rings?
    How do you change a flat bicycle tyre?
    What are the symptoms of iron deficiency?
    How did the Vikings navigate at sea?
    What is the exchange rate between the euro and the yen?
    How do I get a visa for Brazil?
    What is the difference between a virus and a bacterium?
    How is sourdough starter kept alive?
    Why is the sky blue?
    Who won the men's final at Wimbledon?
    How do elevators stop from falling?
    What is the legal drinking age in Canada?
    How do I write a cover letter for a bank job?
    Which dinosaurs lived in the Cretaceous period?
    What is the dress code at a traditional wedding in India?
    How do solar panels turn sunlight into electricity?
    What was traded along the Silk Road?
    How do you calculate the area of a trapezoid?
    Why do cats purr?
    What is the function of the mitochondria?
    How do hurricanes get their names?
    When should tulip bulbs be planted?
    How do you say good morning in Finnish?
    What is the hardest natural mineral?
    Who directed the film Casablanca?
    """.strip().splitlines()
)


TYPICAL = 20_000  # passages whose cosines stand for all; where there are fewer, all are taken
SAMPLE = 512  # passages whose token matches stand for all; where there are fewer, all are taken
PROBES_AT_ONCE = 8
NEAREST = 24  # passages nearest to a probe, among which its best token match is looked for
OWN = 16  # passages that are asked for by their own words
OWN_WORDS = 12  # the first of each, some as many as a question has, of half of the passage at most
USUAL_REACH = (2.9, 3.4)  # by meaning and by tokens, the least that the model has to which all was fitted
MOST_STRETCH = 2.0  # a model that needs more tells nothing apart


def calibrate(
    ledger: Ledger,
    snapshot: Snapshot,
    stemmer: Stemmer,
    embed_query: Callable[[str], Embedded],
    sparse: Callable[[Snapshot, str], Vectors] | None = None,
    models: str = "",
) -> None:
    """Learns the scales of an index and notes them, unless they are known for what it holds.

    `sparse`: what a sparse model scores; `models` names those that are on beside the one that makes vectors.
    """
    content = CALIBRATION_FORMAT + ledger.content_mark() + models
    note = ledger.note(CALIBRATION_NOTE)
    if note and json.loads(note)["content"] == content:
        return
    places = np.flatnonzero(snapshot.passages.vectors >= 0)
    if len(places) == 0:
        ledger.set_note(CALIBRATION_NOTE, "")
        return
    learnt = _learn(ledger, snapshot, stemmer, [*map(embed_query, PROBES)], places)
    learnt = _stretch(learnt, _measure_reach(ledger, snapshot, stemmer, embed_query, learnt))
    values = [learnt.meaning.middle, learnt.meaning.unit, learnt.tokens.middle, learnt.tokens.unit, learnt.background]
    if sparse:
        scores = np.stack([sparse(snapshot, probe) for probe in PROBES])
        scale = learn_scale(scores, scores.max(axis=1))
        values += [scale.middle, scale.unit]
    ledger.set_note(CALIBRATION_NOTE, json.dumps({"content": content, "values": values}))


def _learn(ledger: Ledger, snapshot: Snapshot, stemmer: Stemmer, probes: list[Embedded], places: Places) -> Calibration:
    # passages of the lowest hashes stand for all, which says nothing of their texts: their cosines (probes, passages)
    typical = np.intersect1d(snapshot.passages.places(ledger.lowest(TYPICAL)), places)
    vectors = np.stack([probe.vector for probe in probes])
    cosines = snapshot.exact_cosines(vectors, typical)
    # token matches of fewer still, (words of a probe, passages) each
    sample = _sample(snapshot, typical)
    sampled = [*_matches_in_sample(snapshot, probes, sample)]
    terms = list_terms(ledger.keywords, stemmer, PROBES, snapshot.word_tables)
    weights = [token_weights(*of_one, len(snapshot.passages)) for of_one in zip(probes, terms, strict=True)]
    # the best of each probe: the sample has it where it is the whole index
    best, matches = cosines.max(axis=1), sampled
    if len(sample) < len(places):
        best, near = _match_nearest(snapshot, probes, places)
        matches = [np.hstack(both) for both in zip(sampled, near, strict=True)]
    # summed row by row, since what a product of matrices gives for a passage depends on where it stands
    table = np.stack([(weight[:, None] * of_one).sum(axis=0) for weight, of_one in zip(weights, matches, strict=True)])
    return Calibration(
        meaning=learn_scale(cosines, best),
        tokens=learn_scale(table[:, : len(sample)], table.max(axis=1)),
        background=float(np.median(np.concatenate([of_one.ravel() for of_one in sampled]))),
    )


def _match_nearest(snapshot: Snapshot, probes: list[Embedded], places: Places) -> tuple[Vectors, list[Vectors]]:
    """The highest cosine of each probe, (probes,), and its token matches in the passages nearest to it."""
    # roughly the cosines of all tell what to look at exactly
    vectors = np.stack([probe.vector for probe in probes])
    roughly = (vectors @ np.asarray(snapshot.vectors).T)[:, snapshot.passages.vectors[places]]
    best, matches = [], []
    for probe, row in zip(probes, roughly, strict=True):
        near = np.sort(places[best_first(row, places, 2 * NEAREST)])
        cosines = snapshot.exact_cosines(probe.vector[None], near)[0]
        best.append(cosines.max())
        matches.append(compute_matches(snapshot, probe.tokens, near[best_first(cosines, near, NEAREST)]))
    return np.array(best), matches


def _stretch(scales: Calibration, reach: tuple[float, float]) -> Calibration:
    """Scales in which own passages score what the usual model gives them, if a bounded stretch is enough for it."""
    meaning, tokens = (
        replace(scale, unit=scale.unit * float(np.clip(reached / usual, 1 / MOST_STRETCH, 1.0)))
        for scale, reached, usual in zip((scales.meaning, scales.tokens), reach, USUAL_REACH, strict=True)
    )
    return replace(scales, meaning=meaning, tokens=tokens)


def _measure_reach(
    ledger: Ledger, snapshot: Snapshot, stemmer: Stemmer, embed_query: Callable[[str], Embedded], scales: Calibration
) -> tuple[float, float]:
    """The medians, by meaning and by tokens, of what passages of the index score where their first words are asked."""
    reached = []
    for row, chunk in ledger.chunks(ledger.lowest(OWN)).items():
        place = snapshot.passages.places([row])
        text = " ".join(chunk.passage[: (len(chunk.passage) + 1) // 2].split()[:OWN_WORDS])
        if len(place) == 0 or snapshot.passages.vectors[place[0]] < 0 or snapshot.passages.token_counts[place[0]] == 0:
            continue
        question = embed_query(text)
        terms = question_terms(ledger.keywords, stemmer, text, snapshot.word_tables)
        weights = token_weights(question, terms, len(snapshot.passages))
        meaning = scales.meaning(snapshot.exact_cosines(question.vector[None], place))
        tokens = scales.tokens(weights @ compute_matches(snapshot, question.tokens, place))
        reached.append((meaning[0, 0], tokens[0]))
    by_meaning, by_tokens = np.median(reached or [USUAL_REACH], axis=0).tolist()
    return by_meaning, by_tokens


def _matches_in_sample(snapshot: Snapshot, probes: Sequence[Embedded], sample: Places) -> Iterator[Vectors]:
    """The best match of each token of each probe in each passage of the sample, (q, n) a probe.

    Several probes at once, since to unpack the sample's tokens takes longer than to compare them with one probe's.
    """
    for start in range(0, len(probes), PROBES_AT_ONCE):
        tokens = [probe.tokens for probe in probes[start : start + PROBES_AT_ONCE]]
        matches = compute_matches(snapshot, np.concatenate(tokens), sample)
        yield from np.split(matches, np.cumsum([len(of_probe) for of_probe in tokens])[:-1])


def _sample(snapshot: Snapshot, places: Places) -> Places:
    """Passages that stand for all: evenly spread over their cosines' order with a fixed direction.

    The choice depends on the vectors alone, so that an index filled in another order has the same sample.
    """
    held = places[snapshot.passages.token_counts[places] > 0]
    if len(held) <= SAMPLE:
        return held
    # any direction will do, if it is the same for every index
    direction = np.sin(np.arange(snapshot.vectors.shape[1], dtype=np.float32) + 1)
    order = held[np.argsort(snapshot.exact_cosines(direction[None], held)[0], kind="stable")]
    return order[np.linspace(0, len(order) - 1, SAMPLE).astype(np.int64)]


def learn_scale(typical: NDArray[np.floating], best: NDArray[np.floating]) -> Scale:
    """The scale of an index from what unrelated probe questions score in it.

    typical (probes, n): scores of passages that stand for all; best (probes,): the highest score of each probe.
    The unit is half the distance to the best unrelated passage, which grows with the index, and half three standard
    deviations, which do not. A linear map of all cosines cancels exactly. In whatever order the passages come, sorted
    they add up to the same sum.
    """
    middle = float(np.median(typical))
    spread = float(np.sort(typical, axis=None).std(dtype=np.float64))
    return Scale(middle, max(LEAST_UNIT, 0.5 * (float(np.median(best)) - middle) + 1.5 * spread))
