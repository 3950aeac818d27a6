"""What a process of this program does about itself, so that nothing it read comes to lie where others find it."""

import ctypes
import os

M_PERTURB = -6  # mallopt(3): free() fills what it is given with this byte
FILLER = 1


def keep_private() -> None:
    """Keeps other accounts out of what is written from here on, and has freed memory overwritten."""
    os.umask(0o077)
    overwrite_freed_memory()


def overwrite_freed_memory() -> bool:
    """From now on this process overwrites what it frees; whether its C library can. glibc can, macOS cannot.

    The graph file of the semantic index is written with room for vectors to come, and that room is whatever lay in the
    memory that was reserved for it: transcripts before their secrets were masked, or sessions that were forgotten.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(M_PERTURB, FILLER) == 1


def prepare_process() -> None:
    """Keeps other accounts out of what is written, has freed memory overwritten, and vectors multiplied in one thread.

    One product takes milliseconds at most: a second thread that waits for the next one costs more than it brings, and
    takes a core from whoever else asks or embeds. Call it when numpy is loaded, whose threads these are.
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  tens of milliseconds that short commands save

    keep_private()
    threadpool_limits(1, user_api="blas")


def give_back_freed() -> None:
    """Hands freed memory back to the system, where the C library can: glibc keeps it for later otherwise."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
