"""What a process freed does not come to lie in the files of the semantic index, and a product takes one thread."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from memory_server.machine.process import prepare_process

TEXT = "the sentence of a forgotten session "

# Threads, since the graph is written by one: it gets the memory that others left behind.
PROGRAM = """
import sys
import threading
from pathlib import Path

import numpy as np

from memory_server.document import Layer
from memory_server.machine.process import overwrite_freed_memory
from memory_server.index.semantic import SemanticIndex

folder, text = sys.argv[1:]
assert overwrite_freed_memory()
together = threading.Barrier(16)

def read_and_free():
    together.wait()
    read = [text * 2_800 for _ in range(50)]
    between = [bytes(1_000) for _ in range(50)]
    del read
    together.wait()

threads = [threading.Thread(target=read_and_free) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
index = SemanticIndex(Path(folder))
index.add(Layer.TOPIC, [b"a"], np.ones((1, 384), np.float32))
index.close()
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this C library cannot overwrite freed memory")
def test_no_freed_text_lies_in_the_graph_file(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), TEXT], check=True, timeout=120)

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"data_level0.bin", "chroma.sqlite3"} <= {path.name for path in files}
    assert [path.name for path in files if TEXT.encode() in path.read_bytes()] == []


def test_vectors_are_multiplied_by_the_thread_that_asks() -> None:
    prepare_process()

    assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {1}


def test_what_a_process_writes_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        prepare_process()
        (tmp_path / "file").write_text("x", encoding="utf-8")
        (tmp_path / "folder").mkdir()
    finally:
        os.umask(before)

    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("file", "folder")] == [0o600, 0o700]
