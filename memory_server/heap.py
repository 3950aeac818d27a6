"""Freed memory is overwritten, so that no text reaches a file by way of it.

The graph file of the semantic index is written with room for vectors to come, and that room is whatever lay in the
memory that was reserved for it: transcripts before their secrets were masked, or sessions that were forgotten.
"""

import ctypes

M_PERTURB = -6  # mallopt(3): free() fills what it is given with this byte
FILLER = 1


def overwrite_freed_memory() -> bool:
    """From now on this process overwrites what it frees; whether its C library can. glibc can, macOS cannot."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(M_PERTURB, FILLER) == 1
