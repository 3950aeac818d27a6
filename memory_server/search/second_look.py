"""The second look: late interaction of the question's tokens with those of the best passages.

A mean over the question's tokens, weighted by rarity, of the best match in a passage or beside it: the MaxSim of
ColBERT (Khattab and Zaharia 2020, eq. 3) as a mean, over the embedder's own token vectors kept as signs.
"""

from collections.abc import Sequence

import numpy as np

from memory_server.embedding.engine import Embedded, Vectors
from memory_server.index.passages import ranges
from memory_server.index.snapshot import Snapshot
from memory_server.index.token_vectors import token_matches
from memory_server.search.fusion import Places, Scores
from memory_server.search.terms import Term, rarity

NEIGHBOUR_TOKENS = 0.8  # a match next door counts this much of its excess over the background
SOFT_TOKEN = 0.5  # stop words and marks among the question's tokens
MAX_TOKEN_ROWS = 40_000  # of one question: bounds its time whatever the passages' length


def token_weights(question: Embedded, terms: Sequence[Term], passages: int) -> Scores:
    """The weight of each token of a question (q,), summing to 1: the rarity of its word, shared among its pieces."""
    weights = np.empty(len(question.spans))
    for place, (first, last) in enumerate(question.spans):
        term = next((term for term in terms if term.first <= first and last <= term.last), None)
        if term is None:
            weights[place] = SOFT_TOKEN * rarity(passages / 2, passages)
            continue
        pieces = sum(term.first <= other <= term.last - 1 for other, _ in question.spans)
        softness = SOFT_TOKEN if term.is_stop else 1.0
        weights[place] = softness * rarity(term.holders, passages) / max(pieces, 1)
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / max(len(weights), 1))


def matches_of(snapshot: Snapshot, tokens: Vectors, places: Places) -> Vectors:
    """The best match of each token (q, d) in each of some passages, (q, n); -1 where a passage has no tokens."""
    found = np.full((len(tokens), len(places)), -1.0, dtype=np.float32)
    counts = snapshot.passages.token_counts[places]
    held = np.flatnonzero(counts)
    if len(held) == 0 or len(tokens) == 0:
        return found
    firsts, sizes = snapshot.passages.first_tokens[places[held]], counts[held]
    packed = snapshot.tokens[ranges(firsts, firsts + sizes)]
    found[:, held] = token_matches(tokens, packed, np.cumsum(sizes) - sizes)
    return found


def late_scores(matches: Vectors, weights: Scores, runs: Places, background: float) -> tuple[Scores, Scores]:
    """The plain and the near score of each passage, (n,) each, from matches (q, n) of passages in the order of runs.

    `background` is the typical match of an unrelated question; only the excess over it is discounted next door, so that
    a linear map of all cosines cancels.
    """
    damped = background + NEIGHBOUR_TOKENS * (matches - background)
    near, same = matches.copy(), runs[1:] == runs[:-1]
    near[:, 1:] = np.where(same, np.maximum(near[:, 1:], damped[:, :-1]), near[:, 1:])
    near[:, :-1] = np.where(same, np.maximum(near[:, :-1], damped[:, 1:]), near[:, :-1])
    return weights @ matches, weights @ near
