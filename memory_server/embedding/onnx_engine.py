"""Runs an embedding model on ONNX Runtime.

One session serves all threads; the calling thread does the work (one intra-op thread), so that a pool of pinned
workers decides how much of the machine is used.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

from memory_server.embedding.engine import Embedded, Vectors
from memory_server.embedding.model import ModelFiles, Pooling
from memory_server.errors import NeedsRepair
from memory_server.machine.process import give_back_freed


class OnnxEngine:
    """A model's ONNX graph with its tokenizer."""

    def __init__(self, files: ModelFiles):
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # its own threads would escape the pinning
        self._card = files.card
        self._tokenizer = load_tokenizer(files)
        self._session = load_session(files)
        give_back_freed()  # the graph as it was read: 60 MB of the packaged model

    @property
    def dimensions(self) -> int:
        return self._card.dimensions

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        """See `Engine.embed`. Texts beyond the model's length are cut; an empty text has a vector but no tokens."""
        if not texts:
            return []
        prefix = self._card.query_prefix if as_query else self._card.passage_prefix
        encodings = self._tokenizer.encode_batch([prefix + text for text in texts])
        states = self._run(encodings)
        return [
            self._pool_state(encoding, state, len(prefix)) for encoding, state in zip(encodings, states, strict=True)
        ]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [sum(encoding.attention_mask) for encoding in self._tokenizer.encode_batch(list(texts))]

    def rest(self) -> None:
        """ONNX Runtime keeps what its largest batch took (240 MB of 8 passages), until a run tells it to shrink."""
        options = onnxruntime.RunOptions()
        options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self._run(self._tokenizer.encode_batch([""]), options)
        give_back_freed()

    def close(self) -> None:
        del self._session

    def _run(self, encodings: Sequence[Encoding], options: onnxruntime.RunOptions | None = None) -> Vectors:
        """The last hidden states, (texts, tokens, d)."""
        return run_graph(
            self._session,
            [encoding.ids for encoding in encodings],
            [encoding.attention_mask for encoding in encodings],
            [encoding.type_ids for encoding in encodings],
            options,
        )

    def _pool_state(self, encoding: Encoding, state: Vectors, prefix_chars: int) -> Embedded:
        read = np.array(encoding.attention_mask, dtype=bool)
        words = read & ~np.array(encoding.special_tokens_mask, dtype=bool)
        places = [place for place in np.flatnonzero(words) if encoding.offsets[place][0] >= prefix_chars]
        offsets = [encoding.offsets[place] for place in places]
        pooled = state[0] if self._card.pooling is Pooling.CLS else state[read].mean(axis=0)
        return Embedded(
            vector=unit_rows(pooled[None, :])[0],
            tokens=unit_rows(state[places]),
            spans=tuple((first - prefix_chars, last - prefix_chars) for first, last in offsets),
        )


def run_graph(
    session: onnxruntime.InferenceSession,
    ids: Sequence[Sequence[int]],
    mask: Sequence[Sequence[int]],
    kinds: Sequence[Sequence[int]],
    options: onnxruntime.RunOptions | None = None,
) -> Vectors:
    """The first output of a transformer's graph for the pieces of some texts of one length, each (texts, tokens)."""
    feed = {
        name: np.array(rows, dtype=np.int64)
        for name, rows in (("input_ids", ids), ("attention_mask", mask), ("token_type_ids", kinds))
    }
    inputs = {node.name for node in session.get_inputs()}
    outputs = session.run(None, {name: array for name, array in feed.items() if name in inputs}, options)
    return np.asarray(outputs[0], dtype=np.float32)


def unit_rows(rows: Vectors) -> Vectors:
    """Rows (n, d) scaled to unit length; a row of zeros stays one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), dtype=np.float32)


def load_tokenizer(files: ModelFiles) -> Tokenizer:
    """A model's tokenizer, cutting where the model does. Raises NeedsRepair."""
    try:
        if files.tokenizer.suffix == ".txt":
            built = BertWordPieceTokenizer(vocab=str(files.tokenizer), lowercase=True)
            tokenizer = Tokenizer.from_str(built.to_str())
        else:
            tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # the library raises nothing more precise
        raise unreadable("tokenizer", files.tokenizer, error) from error
    tokenizer.enable_truncation(files.card.max_tokens)  # files may carry a shorter one, and padding to it
    padding = tokenizer.padding or {}
    tokenizer.enable_padding(pad_id=padding.get("pad_id", 0), pad_token=padding.get("pad_token", "[PAD]"))
    return tokenizer


def load_session(files: ModelFiles, threads: int = 1) -> onnxruntime.InferenceSession:
    """A model's graph; `threads` share the work of one run. Raises NeedsRepair."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(files.weights), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors share no other base
        raise unreadable("model", files.weights, error) from error


def unreadable(what: str, file: Path, error: Exception) -> NeedsRepair:
    reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return NeedsRepair(
        f"the {what} cannot be loaded ({reason})",
        where=file,
        remedy="Delete the file and run `oneiros init --download`, or reinstall the packaged model",
    )
