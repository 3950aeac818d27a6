"""What a process that opens a memory settles once, before it reads a text."""

import ctypes
import os

from threadpoolctl import threadpool_limits

M_PERTURB = -6  # mallopt(3): free() fills what it is given with this byte
FILLER = 1


def settle_process() -> None:
    """Keeps other accounts out of what is written, has freed memory overwritten, and vectors multiplied in one thread.

    One product takes milliseconds at most: a second thread that waits for the next one costs more than it brings, and
    takes a core from whoever else asks or embeds.
    """
    os.umask(0o077)
    overwrite_freed_memory()
    threadpool_limits(1, user_api="blas")


def overwrite_freed_memory() -> bool:
    """From now on this process overwrites what it frees; whether its C library can. glibc can, macOS cannot.

    The graph file of the semantic index is written with room for vectors to come, and that room is whatever lay in the
    memory that was reserved for it: transcripts before their secrets were masked, or sessions that were forgotten.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(M_PERTURB, FILLER) == 1
