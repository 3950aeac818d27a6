"""What a command line needs before anything of weight is imported: exit code when interrupted, version, completion."""

COMPLETE = "_ONEIROS_COMPLETE"  # set by what `setup --completion` writes; the program answers with what may follow
EXIT_INTERRUPTED = 130


def print_version() -> int:
    """Prints the version of the installed program; the exit code."""
    from importlib.metadata import version

    print(f"oneiros {version('oneiros')}")
    return 0
