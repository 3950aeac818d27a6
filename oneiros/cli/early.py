"""What a command line needs before anything of weight is imported: its exit code when interrupted, and the version."""

EXIT_INTERRUPTED = 130


def print_version() -> int:
    """Prints the version of the installed program; the exit code."""
    from importlib.metadata import version

    print(f"oneiros {version('oneiros')}")
    return 0
