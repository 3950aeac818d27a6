"""Draws the pictures of docs/how-good.md and fills in its tables, from the figures of runs that are kept.

    python -m benchmarks.how_good

Every file of `benchmarks/figures` is what a benchmark wrote with `--json`, without its single questions; it says
machine, day and commit. The page is written by hand but for what stands between its marks, which this writes anew.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIGURES, PAGE, IMAGES = ROOT / "benchmarks" / "figures", ROOT / "docs" / "how-good.md", ROOT / "docs" / "images"
MARKED = r"(?s)(<!-- figures: {name} -->\n).*?(<!-- end -->)"
LABEL_WIDTH, BAR_WIDTH, BAR_HEIGHT, WIDTH = 270, 380, 14, 720
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #24292f } .head { font-weight: 600 }
.own { fill: #1f6feb } .other { fill: #8c959f }
line { stroke: #24292f; stroke-width: 1.5 } .axis { stroke: #8c959f; stroke-width: .5 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } line { stroke: #e6edf3 } .own { fill: #58a6ff }
.other { fill: #6e7681 } .axis { stroke: #6e7681 } }
</style>"""

ANSWERS = {"answer_at_1": "first passage", "answer_at_3": "first three", "answer_at_10": "first ten"}
PARTS = {"all": "", "held back": ", held back"}
PLAIN = {"oneiros": "recall", "MiniLM and FTS5": "rrf", "FTS5": "fts5"}  # as the page and as a file calls them
CURATED = {"oneiros": "oneiros", "a plain prompt": "plain", "oneiros, rules": "oneiros-rules", "rules": "rules"}
PEERS_TITLE = "{n} questions of {systems[oneiros][transcripts]} transcripts: the answer is shown in the"
COSTS = "|indexed to the end|CPU seconds|largest process, MB|disk, MB|p50 / p95, s|same after a kill|load".split("|")

Shares = Mapping[str, Mapping[str, Sequence[float]]]  # of each measure and system a share and the ends of its interval


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture and a table of one file of figures."""

    name: str  # of the file and of the picture
    title: str  # counts in braces stand in the file
    read: Callable[[Mapping[str, Any]], Shares]
    costs: Callable[[Mapping[str, Any]], Iterator[Sequence[str]]] | None = None  # rows of a second table


def main() -> None:
    """Writes all pictures and the page."""
    for path, text in build_files(PAGE.read_text(encoding="utf-8")).items():
        path.write_text(text, encoding="utf-8")


def build_files(page: str) -> dict[Path, str]:
    """The pictures and the page with its tables, by their paths."""
    files = dict[Path, str]()
    for chart in CHARTS:
        figures = json.loads((FIGURES / f"{chart.name}.json").read_text(encoding="utf-8"))
        shares, title = chart.read(figures), chart.title.format_map(figures)
        files[IMAGES / f"how-good-{chart.name}.svg"] = draw_bars(title, shares)
        stamp = f"{figures['date']}, commit {figures['commit']}, {figures['machine'].partition(';')[0]}"
        tables = [format_table(shares), *([format_rows([COSTS, *chart.costs(figures)])] if chart.costs else ())]
        table = "\n\n".join([f"![{title}](images/how-good-{chart.name}.svg)", *tables, f"{stamp}.\n"])
        page = re.sub(MARKED.format(name=chart.name), lambda found, text=table: found[1] + text + found[2], page)  # type: ignore[misc]
    return {**files, PAGE: page}


# -- what is read ---------------------------------------------------------------------------------------------------


def read_answers(figures: Mapping[str, Any]) -> Shares:
    """Answers of passages of equal length."""
    systems = {"oneiros": "recall", "MiniLM and FTS5": "rrf, equal", "FTS5": "fts5, equal"}
    return read_measures({label: figures[name] for label, name in systems.items()}, ANSWERS)


def read_peers(figures: Mapping[str, Any]) -> Shares:
    """Answers within as many characters, and sessions named first."""
    labels = {name: label for label, name in PLAIN.items()}
    systems = {labels.get(name, name): row for name, row in figures["systems"].items()}
    return read_measures(systems, {**ANSWERS, "session_at_1": "session of the first hit"})


def read_measures(systems: Mapping[str, Any], measures: Mapping[str, str]) -> Shares:
    return {
        label: {system: [row[measure], *row[f"{measure}_interval"]] for system, row in systems.items()}
        for measure, label in measures.items()
    }


def read_costs(figures: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """What each peer took to index and to answer, whether it came back after a kill, and the machine's load."""
    for system, row in figures["systems"].items():
        if index := row.get("index"):
            times = f"{row['p50_ms'] / 1e3:.1f} / {row['p95_ms'] / 1e3:.1f}"
            sizes = (f"{value:.0f}" for value in (index["cpu_seconds"], index["peak_mb"], row["disk_mb"]))
            same = "–" if row["same_after_kill"] is None else f"{row['same_after_kill']:.2f}"
            came_back = same if row["ends_after_kill"] else "does not end"
            yield system, "yes" if index["is_complete"] else "no", *sizes, times, came_back, f"{row['load']:.0f}"


def read_decisions(figures: Mapping[str, Any]) -> Shares:
    """Decisive words in the first three passages and in the answer as Claude gets it."""
    shares = dict[str, Mapping[str, Sequence[float]]]()
    for kind, (part, suffix) in product(("report", "question"), PARTS.items()):
        rows, label = figures[f"{kind}, {part}"], f"{kind}s{suffix}"
        shares[f"{label}: three passages"] = {system: rows[name]["decisive in 3"] for system, name in PLAIN.items()}
        shares[f"{label}: the answer"] = {"oneiros": rows["answer"]["decisive"]}
    return shares


def read_curation(figures: Mapping[str, Any]) -> Shares:
    """What is kept: precision, recall and both, of all pieces and of the half that was held back."""
    measures = {"precision": "precision", "recall": "recall", "f1": "both (F1)"}
    return {
        f"{label}{suffix}": {system: figures["systems"][name][part][measure] for system, name in CURATED.items()}
        for part, suffix in PARTS.items()
        for measure, label in measures.items()
    }


# -- how it is shown ------------------------------------------------------------------------------------------------


def format_table(shares: Shares) -> str:
    """A row a measure, a column a system."""
    systems = next(iter(shares.values()))
    rows = [[name, *(format_share(row[one]) if one in row else "" for one in systems)] for name, row in shares.items()]
    return format_rows([["", *systems], *rows])


def format_rows(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]])


def format_share(share: Sequence[float]) -> str:
    return "{:.2f} ({:.2f} to {:.2f})".format(*share)


def draw_bars(title: str, shares: Shares) -> str:
    """An SVG of bars from 0 to 1, those of a measure together, each with its interval."""
    parts, top = list[str](), 44
    for name, row in shares.items():
        parts.append(f'<text x="0" y="{top}" class="head">{escape(name)}</text>')
        for system, (share, low, high) in row.items():
            bar, top = top + 6, top + BAR_HEIGHT + 4
            middle, kind = bar + BAR_HEIGHT / 2, "own" if system.startswith("oneiros") else "other"
            shape = f'x="{LABEL_WIDTH}" y="{bar}" width="{share * BAR_WIDTH:.1f}" height="{BAR_HEIGHT}"'
            parts += [
                f'<text x="{LABEL_WIDTH - 8}" y="{top}" text-anchor="end">{escape(system)}</text>',
                f'<rect class="{kind}" {shape}/>',
                f'<line x1="{_place(low)}" x2="{_place(high)}" y1="{middle}" y2="{middle}"/>',
                f'<text x="{LABEL_WIDTH + BAR_WIDTH + 8}" y="{top}">{share:.2f}</text>',
            ]
        top += BAR_HEIGHT + 18
    axes = [f'<line class="axis" x1="{_place(x)}" x2="{_place(x)}" y1="30" y2="{top - 24}"/>' for x in (0, 0.5, 1)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top - 10}" role="img">'
    named = f'<title>{escape(title)}</title>\n{STYLE}\n<text x="0" y="18" class="head">{escape(title)}</text>'
    return "\n".join([head, named, *axes, *parts, "</svg>"]) + "\n"


def _place(share: float) -> str:
    return f"{LABEL_WIDTH + share * BAR_WIDTH:.1f}"


CHARTS = (
    Chart("answers-data", "{recall[n]} questions of genuine sessions: the answer is shown in the", read_answers),
    Chart("answers-data2", "{recall[n]} questions of further sessions: the answer is shown in the", read_answers),
    Chart("peers-data", PEERS_TITLE, read_peers, read_costs),
    Chart("peers-data2", PEERS_TITLE, read_peers, read_costs),
    Chart("sde", "sde-bench: decisive words of 27 decisions", read_decisions),
    Chart("sde-read", "sde-bench where a model read the chats: decisive words", read_decisions),
    Chart("curation", "Curation: what is kept of {systems[rules][all][pieces]} pieces of sessions", read_curation),
    Chart("harm", "Without harm, of 30 cases", itemgetter("without_harm")),
    Chart("near", "Topics asked what they answer, and near misses", itemgetter("near")),
    Chart("swapped", "The same where one word of the question is another", itemgetter("near")),
)


if __name__ == "__main__":
    main()
