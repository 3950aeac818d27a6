"""The semantic index: a ChromaDB folder that holds ids and vectors and nothing else.

Exactly one process may open the folder at a time; whoever constructs this class owns the lock of the memory root.
Its own count is never trusted: a damaged folder opens without complaint and counts rows that no query returns. What
it must hold is in the ledger; the answer to any damage is a new folder, filled from the vector cache.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory_server.document import ChunkId, Layer
from memory_server.embedding.engine import Vectors
from memory_server.errors import NeedsRepair

with contextlib.chdir("/"):  # it reads settings from a `.env` of the working folder, which any repository may bring
    import chromadb
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection
    from chromadb.config import Settings
    from chromadb.errors import ChromaError

ADD_BATCH = 1_000  # ChromaDB takes at most 5,461 records a call
CONFIGURATION: CreateCollectionConfiguration = {
    "hnsw": {
        "space": "cosine",
        "ef_construction": 100,
        "ef_search": 200,
        "max_neighbors": 16,
        "sync_threshold": 1_000,
        "batch_size": 100,
    }
}


class OwnSettings(Settings):
    """What is said here alone; a variable or a `.env` could name a server, a collector of traces or a class to load."""

    @classmethod
    def settings_customise_sources(cls, *_: Any, **sources: Any) -> tuple[Any, ...]:
        return (sources["init_settings"],)


class SemanticIndex:
    """One folder of ChromaDB, a collection a layer. Safe to share between threads."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        try:
            settings = OwnSettings(anonymized_telemetry=False, allow_reset=False)
            self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
            self._collections = {layer: self._collection(layer) for layer in Layer}
        except (ChromaError, ValueError, OSError, AttributeError) as error:  # the last: its own clean-up then fails
            raise make_damage_error(folder, error) from error

    def add(self, layer: Layer, ids: Sequence[ChunkId], vectors: Vectors) -> None:
        """Stores vectors (n, d) under their ids. An id that is there already gets its new vector."""
        collection = self._collections[layer]
        try:
            for start in range(0, len(ids), ADD_BATCH):
                part: list[str] = list(ids[start : start + ADD_BATCH])
                collection.delete(ids=part)  # adding an id that exists would silently keep the old vector
                collection.add(ids=part, embeddings=np.ascontiguousarray(vectors[start : start + ADD_BATCH]))
        except ChromaError as error:
            raise make_damage_error(self.folder, error) from error

    def delete(self, layer: Layer, ids: Sequence[ChunkId]) -> None:
        """Forgets ids; unknown ones are no error. The bytes of their vectors stay until the folder is renewed."""
        try:
            for start in range(0, len(ids), ADD_BATCH):
                self._collections[layer].delete(ids=[*map(str, ids[start : start + ADD_BATCH])])
        except ChromaError as error:
            raise make_damage_error(self.folder, error) from error

    def nearest(self, layer: Layer, vector: Vectors, limit: int) -> list[ChunkId]:
        """The ids of a layer whose vectors are nearest to `vector` (d,), nearest first; at most `limit`."""
        try:
            found = self._collections[layer].query(query_embeddings=vector[None, :], n_results=limit, include=[])
        except ChromaError as error:
            raise make_damage_error(self.folder, error) from error
        return [ChunkId(name) for name in found["ids"][0]]

    def read_vectors(self, layer: Layer) -> dict[ChunkId, Vectors]:
        """Every id of a layer with its vector as the graph holds it: what a query can return, not what is counted."""
        try:
            found = self._collections[layer].get(include=["embeddings"])
        except ChromaError as error:
            raise make_damage_error(self.folder, error) from error
        vectors = found["embeddings"]
        assert vectors is not None
        return {
            ChunkId(name): np.asarray(vector, np.float32) for name, vector in zip(found["ids"], vectors, strict=True)
        }

    def close(self) -> None:
        if isinstance(self._client, Client):  # its interface does not name `close`
            self._client.close()

    def _collection(self, layer: Layer) -> Collection:
        return self._client.get_or_create_collection(
            f"layer-{layer}", embedding_function=None, configuration=CONFIGURATION
        )


def make_damage_error(folder: Path, error: Exception) -> NeedsRepair:
    """The error to raise for whatever ChromaDB says about its own files."""
    return NeedsRepair(
        f"the semantic index is damaged ({error.__class__.__name__}: {str(error)[:200]})",
        where=folder,
        remedy="Run `oneiros reindex --rebuild`; the vectors are kept, so it takes seconds",
    )
