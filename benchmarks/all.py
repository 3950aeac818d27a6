"""Every retrieval benchmark one after the other, as `make bench` runs them.

`DATA` names the folder of evaluation data, `OUT` where the JSON goes. A set that is not there is named and left out.
"""

import os
import subprocess
import sys
from pathlib import Path

RUNS = (  # name, module, format, data, queries
    ("locomo", "retrieval", "locomo", "locomo", None),
    ("beam", "retrieval", "beam", "beam", None),
    ("longmemeval", "retrieval", "longmemeval", "longmemeval", None),
    ("docs", "retrieval", "docs", "docs", "eval/docs_queries.jsonl"),
    ("exact", "retrieval", "exact", "docs", "eval/exact_docs.jsonl"),
    ("silence-locomo", "silence", "locomo", "locomo", None),
    ("silence-docs", "silence", "docs", "docs", "eval/docs_queries.jsonl"),
    ("silence-beam", "silence", "beam", "beam", None),
)


def main() -> int:
    """Runs them all; the exit code is 1 where any failed."""
    data, out = Path(os.environ.get("DATA", "../shared/data")), Path(os.environ.get("OUT", "benchmarks/out"))
    failed = 0
    for name, module, layout, folder, queries in RUNS:
        if not (data / folder).exists():
            print(f"\n== {name}: {data / folder} is not there, left out")
            continue
        print(f"\n== {name}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{module}", "--format", layout, "--data", str(data / folder)]
        command += ["--queries", str(data / queries)] if queries else []
        failed += subprocess.run([*command, "--json", str(out / f"{name}.json")], check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
