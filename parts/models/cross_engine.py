"""Scores a question and a passage that a cross-encoder reads together: exact and slow, so for the best few alone."""

from collections.abc import Sequence

import numpy as np

from memory_server.embedding.engine import Vectors
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import load_session, load_tokenizer, run_graph
from memory_server.errors import NeedsRepair

BATCH = 10  # pairs of like length
THREADS = 2  # a person waits


class CrossEngine:
    """A cross-encoder. Safe to share between threads."""

    def __init__(self, files: ModelFiles):
        self._files = files
        self._tokenizer = load_tokenizer(files)
        self._session = load_session(files, THREADS)
        self._known: tuple[str, dict[str, float]] = ("", {})  # of the last question: layers are asked one by one

    def scores(self, question: str, passages: Sequence[str]) -> Vectors:
        """How well each passage answers a question, (n,): the model's logit, whose scale is its own."""
        last_question, known = self._known
        known = dict(known) if last_question == question else {}
        new = sorted({*passages} - known.keys(), key=len)
        for start in range(0, len(new), BATCH):
            part = new[start : start + BATCH]
            known |= dict(zip(part, self._logits(question, part), strict=True))
        self._known = (question, known)
        return np.array([known[passage] for passage in passages], dtype=np.float32)

    def _logits(self, question: str, passages: Sequence[str]) -> list[float]:
        encodings = self._tokenizer.encode_batch([(question, passage) for passage in passages])
        found = run_graph(
            self._session,
            [encoding.ids for encoding in encodings],
            [encoding.attention_mask for encoding in encodings],
            [encoding.type_ids for encoding in encodings],
        )
        if found.shape not in ((len(passages), 1), (len(passages),)):
            what = f"{self._files.card.name} gives no one score for a pair, but {found.shape[1:]}"
            raise NeedsRepair(what, where=self._files.weights, remedy="`oneiros config rerank_model ''` turns it off")
        return [float(one) for one in found.reshape(-1)]
