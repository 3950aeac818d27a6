"""Writing files so that a reader sees the old or the new text, never half of it."""

import os
from pathlib import Path


def file_identity(file: Path) -> tuple[int, int] | None:
    """What tells a file from another one that took its name; None where there is none."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def replace_file(file: Path, text: str) -> None:
    """Writes a text file in one step: under a temporary name first, then moved over the old one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8", newline="")
    temporary.replace(file)
