"""Runs an embedding model on sentence-transformers and torch: where there is a GPU, or weights without an ONNX graph.

The same text gets the same vector as from the ONNX engine, within rounding, since pooling, prefix and length are data
of the model in both. A worker takes one thread; on a GPU one batch runs at a time.
"""

import threading
from collections.abc import Sequence

import numpy as np
import torch
from sentence_transformers.sentence_transformer.modules import Transformer

from memory_server.embedding.engine import Embedded, Vectors
from memory_server.embedding.model import ModelFiles, Pooling
from memory_server.embedding.onnx_engine import unit_rows
from memory_server.errors import NeedsRepair
from memory_server.machine.process import give_back_freed

WEIGHTS = "model.safetensors"


class TorchEngine:
    """A model's safetensors with its tokenizer."""

    def __init__(self, files: ModelFiles):
        """Loads the safetensors that lie where `files.weights` does, or a folder above. Nothing is downloaded."""
        torch.set_num_threads(1)
        self._card = files.card
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._one_at_a_time = threading.Lock()
        folder = next((place for place in files.weights.parents[:2] if (place / WEIGHTS).is_file()), None)
        if folder is None:
            raise NeedsRepair(
                f"{files.card.name} has no {WEIGHTS} here",
                where=files.weights.parent,
                remedy="Fetch the whole model into the hub cache, or `oneiros config embedding_engine onnx`",
            )
        try:
            self._transformer = Transformer(str(folder), max_seq_length=files.card.max_tokens)
        except (OSError, ValueError) as error:
            raise NeedsRepair(
                f"the model cannot be loaded ({str(error).splitlines()[0][:200]})",
                where=folder,
                remedy="Fetch it again, or use the ONNX engine: `oneiros config embedding_engine onnx`",
            ) from error
        self._model = self._transformer.auto_model.to(self._device).eval()
        self._tokenizer = self._transformer.tokenizer

    @property
    def dimensions(self) -> int:
        return self._card.dimensions

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        """See `Engine.embed`."""
        if not texts:
            return []
        prefix = self._card.query_prefix if as_query else self._card.passage_prefix
        encoded = self._tokenizer(
            [prefix + text for text in texts],
            padding=True,
            truncation=True,
            max_length=self._card.max_tokens,
            return_tensors="pt",
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
        )
        offsets = encoded.pop("offset_mapping").numpy()
        special = encoded.pop("special_tokens_mask").numpy().astype(bool)
        read = encoded["attention_mask"].numpy().astype(bool)
        states = self._run(encoded)
        return [
            self._pool_state(state, one_read, one_special, one_offsets, len(prefix))
            for state, one_read, one_special, one_offsets in zip(states, read, special, offsets, strict=True)
        ]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        encoded = self._tokenizer(list(texts), truncation=True, max_length=self._card.max_tokens)
        return [len(ids) for ids in encoded["input_ids"]]

    def rest(self) -> None:
        give_back_freed()

    def close(self) -> None:
        del self._model

    def _run(self, encoded: "dict[str, torch.Tensor]") -> Vectors:
        """The last hidden states, (texts, tokens, d)."""
        feed = {name: tensor.to(self._device) for name, tensor in encoded.items()}
        with torch.inference_mode():
            if self._device == "cpu":
                torch.set_num_threads(1)  # of the calling worker; a new thread would start with all cores
                found = self._model(**feed).last_hidden_state
            else:
                with self._one_at_a_time:
                    found = self._model(**feed).last_hidden_state
        return np.asarray(found.float().cpu().numpy(), dtype=np.float32)

    def _pool_state(
        self,
        state: Vectors,
        read: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
        special: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
        offsets: "np.ndarray[tuple[int, int], np.dtype[np.int64]]",
        prefix_chars: int,
    ) -> Embedded:
        places = [place for place in np.flatnonzero(read & ~special) if offsets[place][0] >= prefix_chars]
        pooled = state[0] if self._card.pooling is Pooling.CLS else state[read].mean(axis=0)
        return Embedded(
            vector=unit_rows(pooled[None, :])[0],
            tokens=unit_rows(state[places]),
            spans=tuple((int(offsets[at][0]) - prefix_chars, int(offsets[at][1]) - prefix_chars) for at in places),
        )
