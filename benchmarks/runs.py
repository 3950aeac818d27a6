"""What a run of a benchmark has as others have it: options, tables of cases, and figures that are kept."""

import argparse
import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import stamp_run


def build_parser(description: str | None) -> argparse.ArgumentParser:
    """The command line of a module, told by its docstring, with the place for figures."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="figures to FILE")
    return parser


def read_table(file: Path) -> list[dict[str, str]]:
    """The rows of a file of tabs, by the names of its first line."""
    with file.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def write_figures(file: Path | None, found: Mapping[str, Any]) -> None:
    """Figures behind machine, day and commit; nothing where no file is named."""
    if file:
        file.write_text(json.dumps({**stamp_run(), **found}, indent=1) + "\n", encoding="utf-8")
