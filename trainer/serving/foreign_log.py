"""Progress out of logs that other trainers write: for runs that keep no event file of ours."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

TAIL_BYTES = 64_000  # the last bars and figures stand at the end; the whole log may be gigabytes
BAR = re.compile(r"(\d{1,3})%\|[^|]*\|\s*(\d+)/(\d+)\s*\[")
FIGURES = re.compile(r"\{'[a-z_]*loss'[^{}]*\}")


@dataclass(frozen=True, slots=True)
class ForeignProgress:
    """What such a log tells."""

    step: int
    total: int
    figures: dict[str, float]


def read_progress(log: Path) -> ForeignProgress | None:
    """The last progress bar and figures of a log; None where there is no bar."""
    if not log.exists():
        return None
    with log.open("rb") as stream:
        stream.seek(max(log.stat().st_size - TAIL_BYTES, 0))
        text = stream.read().decode("utf-8", "replace")
    bars = BAR.findall(text)
    if not bars:
        return None
    return ForeignProgress(int(bars[-1][1]), int(bars[-1][2]), last_figures(text))


def last_figures(text: str) -> dict[str, float]:
    """The last dict of figures that a Hugging Face trainer printed."""
    for printed in reversed(FIGURES.findall(text)):
        try:
            values = ast.literal_eval(printed)
            return {str(name): float(value) for name, value in values.items()}
        except (ValueError, SyntaxError):
            continue
    return {}
