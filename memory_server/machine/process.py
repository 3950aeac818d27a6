"""What a process that holds a memory does about itself."""

import ctypes

from threadpoolctl import threadpool_limits

from memory_server.machine.private import keep_private


def prepare_process() -> None:
    """Keeps other accounts out of what is written, has freed memory overwritten, and vectors multiplied in one thread.

    One product takes milliseconds at most: a second thread that waits for the next one costs more than it brings, and
    takes a core from whoever else asks or embeds. Call it when numpy is loaded, whose threads these are.
    """
    keep_private()
    threadpool_limits(1, user_api="blas")


def give_back_freed() -> None:
    """Hands freed memory back to the system, where the C library can: glibc keeps it for later otherwise."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
