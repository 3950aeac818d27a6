"""Unpacks `.xz` transcripts within bounds: some kilobytes may unpack to anything, through a window of any size."""

import io
import lzma
from pathlib import Path
from typing import BinaryIO

from memory_server.errors import ContentError

PIECE_BYTES = 1 << 16  # of the packed file, read at once
WINDOW_BYTES = 100_000_000  # memory of the decoder; `xz -9` needs 68 MB
MAX_BYTES = 4_000_000_000  # unpacked; a hundred times the longest transcript known


class Unpacked(io.RawIOBase):
    """The bytes that a packed file holds, from its start on. Raises ContentError where it is damaged or too large."""

    def __init__(self, packed: BinaryIO, path: Path):
        self._packed = packed
        self._path = path
        self._position = 0
        self._decoder = lzma.LZMADecompressor(memlimit=WINDOW_BYTES)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Goes back to the start, the one place that is asked for."""
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("a packed transcript is read from its start")
        self._restart()
        return 0

    def close(self) -> None:
        self._packed.close()
        super().close()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the type of any buffer came with 3.12
        try:
            piece = self._next(len(buffer))
        except (lzma.LZMAError, EOFError) as error:
            raise ContentError(
                f"it cannot be unpacked ({error})", where=self._path, remedy="Copy it anew, or remove it"
            ) from error
        self._position += len(piece)
        if self._position > MAX_BYTES:
            raise ContentError(
                f"it unpacks to more than {MAX_BYTES / 1e9:.0f} GB", where=self._path, remedy="Remove it"
            )
        buffer[: len(piece)] = piece
        return len(piece)

    def _next(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end of the last stream of the file."""
        while True:
            packed = b""
            if self._decoder.eof:
                packed = (self._decoder.unused_data or self._packed.read(PIECE_BYTES)).lstrip(b"\0")  # padding
                if not packed:
                    return b""
                self._decoder = lzma.LZMADecompressor(memlimit=WINDOW_BYTES)
            elif self._decoder.needs_input and not (packed := self._packed.read(PIECE_BYTES)):
                raise EOFError("its end is missing")
            if piece := self._decoder.decompress(packed, size):
                return piece

    def _restart(self) -> None:
        self._packed.seek(0)
        self._position = 0
        self._decoder = lzma.LZMADecompressor(memlimit=WINDOW_BYTES)
