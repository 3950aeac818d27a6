"""What every process of this program does first, so that nothing it read comes to lie where others find it."""

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
