"""Token vectors for the second look: pooled and quantised, so that they fit on a disk.

Neighbouring tokens are averaged in groups of POOL and kept as signed bytes.
"""

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.engine import Vectors

POOL = 4


def token_bytes(dimensions: int) -> int:
    """How long one packed token vector is."""
    return dimensions


def pack_tokens(tokens: Vectors) -> NDArray[np.uint8]:
    """Token vectors (t, d) with unit rows as packed rows (ceil(t / POOL), d)."""
    groups = [tokens[start : start + POOL].mean(axis=0) for start in range(0, len(tokens), POOL)]
    if not groups:
        return np.zeros((0, tokens.shape[1]), dtype=np.uint8)
    pooled = np.stack(groups)
    pooled /= np.maximum(np.abs(pooled).max(axis=1, keepdims=True), 1e-12)
    return np.ascontiguousarray(np.round(pooled * 127).astype(np.int8).view(np.uint8))


def unpack_tokens(packed: NDArray[np.uint8]) -> Vectors:
    """Packed rows as unit vectors (k, d)."""
    rows = packed.view(np.int8).astype(np.float32)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), dtype=np.float32)
