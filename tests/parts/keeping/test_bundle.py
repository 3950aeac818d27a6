"""Bundles: what was written is read back, and kept only where it is the same."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.errors import ContentError
from parts.keeping.bundle import PIECE_BYTES, read_bundle, write_bundle

NOISE = random.Random(1).randbytes(PIECE_BYTES)


def test_a_bundle_read_from_end_to_end_is_what_was_written(tmp_path: Path) -> None:
    contents = {"root/a.md": b"one", f"root/{'long/' * 40}b.md": b"", "state/marks.jsonl": NOISE}

    made = write_bundle(tmp_path / "a.tar.zst", "backup", "2026-03-02", contents.items())

    assert read_bundle(tmp_path / "a.tar.zst", "backup") == made
    assert {name: note.size for name, note in made.manifest.files.items()} == {
        name: len(content) for name, content in contents.items()
    }


def test_a_file_that_the_disk_changed_is_not_kept(tmp_path: Path) -> None:
    def contents() -> Iterator[tuple[str, bytes]]:
        for number in range(20):
            yield f"root/{number}", NOISE[number:]
        [written] = tmp_path.iterdir()
        assert written.stat().st_size > PIECE_BYTES
        with written.open("r+b") as stream:
            stream.seek(PIECE_BYTES // 2)
            byte = stream.read(1)[0]
            stream.seek(PIECE_BYTES // 2)
            stream.write(bytes([byte ^ 1]))

    with pytest.raises(ContentError, match="read back"):
        write_bundle(tmp_path / "a.tar.zst", "backup", "2026-03-02", contents())
    assert not list(tmp_path.iterdir())


def test_a_name_that_could_not_be_restored_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ContentError):
        write_bundle(tmp_path / "a.tar.zst", "backup", "2026-03-02", [("root/../a.md", b"one")])
    assert not list(tmp_path.iterdir())
