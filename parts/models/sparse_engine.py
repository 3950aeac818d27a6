"""Weighs the pieces of a vocabulary by a learned sparse model of the doc-only kind ("inference-free").

A passage goes through the transformer and its language-model head: for each piece of the vocabulary the greatest logit
of all tokens, cut at 0 and damped by one logarithm or two (SPLADE, Formal et al. 2021; the second logarithm is that of
OpenSearch's third series, arXiv 2504.14839). A question is the set of its pieces, each with the weight that a table of
the model has for it, so that asking needs neither a network nor ONNX Runtime. A passage scores the inner product.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from memory_server.embedding.engine import Vectors
from memory_server.embedding.model import Activation, ModelFiles
from memory_server.embedding.onnx_engine import load_session, load_tokenizer, run_graph
from memory_server.errors import NeedsRepair
from memory_server.machine.process import give_back_freed


@dataclass(frozen=True, slots=True, eq=False)
class TermWeights:
    """Some pieces of a vocabulary, by their rising numbers, and what each weighs, above 0."""

    terms: NDArray[np.int64]
    weights: Vectors


class SparseEngine:
    """A sparse model. Safe to share between threads; its graph is loaded with the first passage."""

    def __init__(self, files: ModelFiles):
        self._card = files.card
        self._files = files
        self._tokenizer = load_tokenizer(files)
        self._tokenizer.no_padding()
        self.vocabulary = self._tokenizer.get_vocab_size()
        added = self._tokenizer.get_added_tokens_decoder()
        self._marks = np.array([number for number, token in added.items() if token.special], dtype=np.int64)
        self._table = self._read_table()
        self._guard = threading.Lock()
        self._session: onnxruntime.InferenceSession | None = None

    def weigh_question(self, text: str) -> TermWeights:
        """A question's pieces, each once, with their weights of the table."""
        terms = np.unique(np.array(self._tokenizer.encode(text).ids, dtype=np.int64))
        terms = terms[self._table[terms] > 0]
        return TermWeights(terms, self._table[terms])

    def embed(self, texts: Sequence[str]) -> list[TermWeights]:
        """The weights of some passages. One at a time: the logits of a long one take 30 MB."""
        return [self._weigh(self._card.passage_prefix + text) for text in texts]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text the model would read."""
        return [len(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]

    def rest(self) -> None:
        """Gives the graph and all that its runs took back; the next passage loads it again."""
        with self._guard:
            self._session = None
        give_back_freed()

    def _weigh(self, text: str) -> TermWeights:
        encoding = self._tokenizer.encode(text)
        logits = run_graph(self._graph(), [encoding.ids], [encoding.attention_mask], [encoding.type_ids])
        if logits.ndim != 3 or logits.shape[2] < self.vocabulary:
            what = f"{self._card.name} gives no logit for each piece of its vocabulary, but {logits.shape}"
            remedy = "Export the model with its language-model head, then `oneiros model --add` it"
            raise NeedsRepair(what, where=self._files.weights, remedy=remedy)
        weights = np.log1p(np.maximum(logits[0, :, : self.vocabulary].max(axis=0), 0))
        weights = np.log1p(weights) if self._card.activation is Activation.LOG_LOG else weights
        weights[self._marks] = 0
        terms = np.flatnonzero(weights > self._card.least_share * weights.max(initial=0))
        return TermWeights(terms, weights[terms])

    def _graph(self) -> onnxruntime.InferenceSession:
        with self._guard:
            self._session = self._session or load_session(self._files)
            return self._session

    def _read_table(self) -> Vectors:
        """What each piece of the vocabulary weighs in a question, by its number; marks of the model weigh nothing."""
        file = self._files.query_weights
        assert file is not None, self._card
        table = np.zeros(self.vocabulary, dtype=np.float32)
        try:
            for piece, weight in json.loads(file.read_bytes()).items():
                if (number := self._tokenizer.token_to_id(piece)) is not None:
                    table[number] = weight
        except (OSError, ValueError, TypeError, AttributeError) as error:
            what = f"the table of question weights cannot be read ({str(error)[:200] or type(error).__name__})"
            raise NeedsRepair(what, where=file, remedy="Fetch or add the model again") from error
        table[self._marks] = 0
        return table
