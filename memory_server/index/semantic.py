"""The semantic index: a ChromaDB folder that holds vectors by the hash of their text, and nothing else.

Exactly one process may open the folder at a time; whoever constructs this class owns the lock of the memory root.
Its own count is never trusted: a damaged folder opens without complaint and counts rows that no query returns. What
it must hold is in the ledger; the answer to any damage is a new folder, filled from the vector cache.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory_server.document import Layer
from memory_server.embedding.engine import Vectors
from memory_server.embedding.vector_cache import TextHash
from memory_server.errors import NeedsRepair
from memory_server.machine.files import sync_file, sync_folder

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
        with self._naming_damage():
            settings = OwnSettings(anonymized_telemetry=False, allow_reset=False)
            self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
            try:
                self._collections = {layer: self._collection(layer) for layer in Layer}
            except BaseException:
                self.close()
                raise

    def add(self, layer: Layer, keys: Sequence[TextHash], vectors: Vectors) -> None:
        """Stores vectors (n, d) under the hashes of their texts; what is there already stays."""
        with self._naming_damage():
            for start in range(0, len(keys), ADD_BATCH):
                self._collections[layer].add(
                    ids=_list_ids(keys[start : start + ADD_BATCH]),
                    embeddings=np.ascontiguousarray(vectors[start : start + ADD_BATCH]),
                )

    def delete(self, layer: Layer, keys: Sequence[TextHash]) -> None:
        """Forgets hashes; unknown ones are no error. The bytes of their vectors stay until the folder is renewed."""
        with self._naming_damage():
            for start in range(0, len(keys), ADD_BATCH):
                self._collections[layer].delete(ids=_list_ids(keys[start : start + ADD_BATCH]))

    def find_nearest(self, layer: Layer, vector: Vectors, limit: int) -> list[TextHash]:
        """The hashes of a layer whose vectors are nearest to `vector` (d,), nearest first; at most `limit`."""
        with self._naming_damage():
            found = self._collections[layer].query(query_embeddings=vector[None, :], n_results=limit, include=[])
        return [TextHash(bytes.fromhex(name)) for name in found["ids"][0]]

    def list_keys(self, layer: Layer) -> list[TextHash]:
        """Every hash that a layer is said to hold."""
        with self._naming_damage():
            return [TextHash(bytes.fromhex(name)) for name in self._collections[layer].get(include=[])["ids"]]

    def read_vectors(self, layer: Layer, keys: Sequence[TextHash] | None = None) -> dict[TextHash, Vectors]:
        """Some hashes of a layer, or all, with their vectors as the graph holds them: not what is counted."""
        if keys is not None and not keys:
            return {}  # asked for none, ChromaDB raises
        with self._naming_damage():
            ids = None if keys is None else _list_ids(keys)
            found = self._collections[layer].get(ids=ids, include=["embeddings"])
        vectors = found["embeddings"]
        assert vectors is not None
        return {
            TextHash(bytes.fromhex(name)): np.asarray(vector, np.float32)
            for name, vector in zip(found["ids"], vectors, strict=True)
        }

    def sync(self) -> None:
        """Has the files of the graphs outlive a loss of power, which ChromaDB does not.

        SQLite flushes its own file, which is not to be opened here: to close it would let go of SQLite's locks.
        """
        for folder in filter(Path.is_dir, self.folder.iterdir()):
            for file in folder.iterdir():
                sync_file(file)
            sync_folder(folder)

    def close(self) -> None:
        if isinstance(self._client, Client):  # its interface does not name `close`
            self._client.close()

    def _collection(self, layer: Layer) -> Collection:
        return self._client.get_or_create_collection(
            f"layer-{layer}", embedding_function=None, configuration=CONFIGURATION
        )

    @contextlib.contextmanager
    def _naming_damage(self) -> Iterator[None]:
        """Says in our terms what ChromaDB says about its own files."""
        try:
            yield
        except (ChromaError, ValueError, OSError, AttributeError) as error:  # the last: its own clean-up then fails
            raise NeedsRepair(
                f"the semantic index is damaged ({error.__class__.__name__}: {str(error)[:200]})",
                where=self.folder,
                remedy="The daemon makes it anew from the vectors that are kept",
            ) from error


def _list_ids(keys: Sequence[TextHash]) -> list[str]:
    return [key.hex() for key in keys]
