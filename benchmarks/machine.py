"""What a figure was measured on."""

import datetime as dt
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("chromadb", "numpy", "onnxruntime", "mcp", "tokenizers")


def stamp_run() -> dict[str, str]:
    """Machine, day and commit of a run, as figures that are kept begin."""
    here = Path(__file__).parent
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False).stdout
    return {"machine": machine_text(), "date": f"{dt.datetime.now(dt.UTC):%Y-%m-%d}", "commit": commit.strip()[:12]}


def machine_text() -> str:
    """Processor, cores, system, Python and the versions that matter, in one line."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{_processor()}, {os.cpu_count()} cores; {platform.system()}; Python {platform.python_version()}; {packages}"
    )


def _processor() -> str:
    if sys.platform == "linux":
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        if names:
            return names[0]
    return platform.processor() or platform.machine()
