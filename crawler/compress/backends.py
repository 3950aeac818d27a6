"""What a compressor is."""

from collections.abc import Sequence
from typing import Protocol

from crawler.archive import SessionRecord
from crawler.compress.extractive import compress_extractively
from crawler.facts import SessionFacts
from crawler.turns import Turn
from memory_server.layers.sessions import CompressedSession


class Compressor(Protocol):
    """Makes a digest of a session's turns. It never raises for a session it cannot do: it falls back, and says so."""

    def compress(self, turns: Sequence[Turn], facts: SessionFacts, record: SessionRecord) -> CompressedSession: ...


class ExtractiveCompressor:
    """The default: quotes only, without a model."""

    def compress(self, turns: Sequence[Turn], facts: SessionFacts, record: SessionRecord) -> CompressedSession:
        return compress_extractively(turns, facts, record)
