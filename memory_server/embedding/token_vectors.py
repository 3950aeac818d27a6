"""Token vectors for reranking, kept as signs: one bit a dimension, without stop words and marks.

48 bytes a token at 384 dimensions, so 80,000 passages of 200 tokens take 0.35 GB. Neither the signs nor the words left
out cost anything that can be measured; pooling neighbouring tokens does (benchmarks/RESULTS.md).
"""

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.engine import Embedded, Vectors
from memory_server.language.words import FUNCTION_WORDS

TOKENS_A_BLOCK = 256  # 0.4 MB as floats; with twice as many a third slower
EXACT_STEP = np.float32(2.0**-18)  # multiples of it up to 2^6 fit a 32-bit float; 4,096 components add up to no more


def token_bytes(dimensions: int) -> int:
    """How long one packed token vector is."""
    return (dimensions + 7) // 8


def pack_tokens(embedded: Embedded, text: str) -> NDArray[np.uint8]:
    """The token vectors of a passage's content words as rows of signs (t, token_bytes(d)); of all where none is one.

    `text`: what was embedded, the context on its first line. The words of the context are left out: they stand in every
    passage of their source and would match for each of them.
    """
    passage = text.find("\n") + 1
    content = [
        place
        for place, (first, last) in enumerate(embedded.spans)
        if first >= passage and _is_content(text[first:last])
    ]
    return np.packbits(embedded.tokens[content or slice(None)] > 0, axis=1)


def _is_content(piece: str) -> bool:
    return piece.casefold() not in FUNCTION_WORDS and any(character.isalnum() for character in piece)


def token_matches(question: Vectors, packed: NDArray[np.uint8], starts: NDArray[np.int64]) -> Vectors:
    """How well each token of a question finds a partner in each passage.

    question (q, d) has unit rows; `packed` holds the token rows of all passages one after the other and `starts` (p,)
    the first row of each, rising, none empty. Returns (q, p): the best cosine against the signs, -1 to 1; the same to
    the last bit wherever a passage's rows stand, since rounded components add up to the same in any order.
    """
    dimensions = question.shape[1]
    # rounded components add up to the same in any order
    question = np.rint(question / EXACT_STEP) * EXACT_STEP
    # bits as 0 and 1, in blocks (b, d) that stay in the processor's cache; the sums of what stands where a bit is
    found = np.empty((len(packed), len(question)), dtype=np.float32)
    block = np.empty((TOKENS_A_BLOCK, dimensions), dtype=np.float32)
    for start in range(0, len(packed), TOKENS_A_BLOCK):
        part = packed[start : start + TOKENS_A_BLOCK]
        bits = block[: len(part)]
        bits[...] = np.unpackbits(part, axis=1, count=dimensions)
        np.matmul(bits, question.T, out=found[start : start + len(part)])
    # the best of each passage; a cosine with signs of -1 and 1 is 2 (q . bits) - sum(q), over sqrt(d)
    best = np.maximum.reduceat(found, starts, axis=0).T
    return np.asarray(
        (2.0 * best - question.sum(axis=1, keepdims=True)) / np.float32(np.sqrt(dimensions)), dtype=np.float32
    )
