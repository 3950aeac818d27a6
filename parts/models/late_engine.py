"""Token vectors by a late-interaction model (ColBERT), beside the one vector that a dense model makes of a text.

To what searches it is an engine like any other: its token vectors take the place of the dense model's own, and are kept
and compared as these are, by their signs. A marker behind the first piece tells questions from passages. Questions are
not filled up with masks, as ColBERT does: a mask stands for no word whose rarity could weigh it.
"""

from collections.abc import Sequence

import numpy as np

from memory_server.embedding.engine import Embedded, Engine
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import load_session, load_tokenizer, run_graph, unit_rows
from memory_server.errors import NeedsRepair

FIRST = 1  # the place of the marker


class LateEngine:
    """A dense engine whose token vectors are those of a late-interaction model."""

    def __init__(self, dense: Engine, files: ModelFiles):
        self._dense = dense
        self._card = files.card
        self._tokenizer = load_tokenizer(files)
        self._tokenizer.no_padding()
        self._session = load_session(files)
        self._markers = {True: self._marker(files, "query_marker"), False: self._marker(files, "passage_marker")}

    @property
    def dimensions(self) -> int:
        return self._dense.dimensions

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        """See `Engine.embed`."""
        dense = self._dense.embed(texts, as_query=as_query)
        return [self._with_tokens(one, text, as_query=as_query) for one, text in zip(dense, texts, strict=True)]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._dense.count_tokens(texts)

    def rest(self) -> None:
        self._dense.rest()

    def close(self) -> None:
        self._dense.close()
        del self._session

    def _with_tokens(self, dense: Embedded, text: str, *, as_query: bool) -> Embedded:
        encoding = self._tokenizer.encode(text.lower() if self._card.lowercase else text)
        rows = ((encoding.ids, self._markers[as_query]), (encoding.type_ids, 0))
        ids, kinds = ([*row[:FIRST], put, *row[FIRST:]] for row, put in rows)
        states = run_graph(self._session, [ids], [[1] * len(ids)], [kinds])[0]
        if states.shape[1:] != (self._card.dimensions,):
            what = f"{self._card.name} gives vectors of {states.shape[1:]}, not of {self._card.dimensions} dimensions"
            raise NeedsRepair(what, remedy="Mend `dimensions` in its model.toml")
        # the words' places in the row with the marker
        words = np.flatnonzero(~np.array(encoding.special_tokens_mask, dtype=bool))
        spans = tuple(encoding.offsets[place] for place in words)
        return Embedded(dense.vector, unit_rows(states[words + (words >= FIRST)]), spans)

    def _marker(self, files: ModelFiles, key: str) -> int:
        piece = getattr(files.card, key)
        number = self._tokenizer.token_to_id(piece)
        if number is None:
            what = f"{key} of {files.card.name} is {piece!r}, which its tokenizer does not know"
            raise NeedsRepair(what, where=files.tokenizer, remedy="Mend that key in its model.toml")
        return int(number)
