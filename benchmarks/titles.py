"""Whether the title of a digest says what the session was about.

    python -m benchmarks.titles --data ../shared/data [--json FILE] [--list]

Somebody read every session of five projects and wrote down words of which a title must hold one (`title_subjects.tsv`).
A title is bad that holds none, is a bare command, stops at a colon, or stands for a session without words. The rules
were chosen on two projects; the share counts on those left out.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.digests import read_sessions
from benchmarks.layouts import find_projects
from benchmarks.machine import machine_text
from crawler.reading.titles import WITHOUT_WORDS, make_title

SUBJECTS = Path(__file__).with_name("title_subjects.tsv")
CHOSEN_ON = ("cipher-box", "claude-code-log")
BARE = re.compile(r"/\S+(?:\s+[\d.]+)?|.*:")  # a command alone, or with a number; a heading without what it heads

Subjects = Mapping[str, re.Pattern[str]]  # first eight characters of a session -> what its title must say


def main() -> None:
    """Reads the command line, titles every labelled session, prints a line a project and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of all test data")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--list", action="store_true", help="print every title")
    options = parser.parse_args()
    subjects = read_subjects()
    print(machine_text())
    found = {project: make_titles(project, place, subjects) for project, place in find_projects(options.data).items()}
    for project, titles in found.items():
        print(f"  {project:<20}{share_of_bad_titles(titles, subjects):>7.3f} of {len(titles)}")
        for session, title in titles.items():
            is_listed = is_bad(title, subjects.get(session))
            if options.list or is_listed:
                print(f"    {'bad' if is_listed else '':<5}{session}  {title}")
    shares = {name: share_of_bad_titles(join_titles(found, names), subjects) for name, names in parts(found).items()}
    print("  " + ", ".join(f"{name} {share:.3f}" for name, share in shares.items()))
    if options.json:
        options.json.write_text(json.dumps({"bad_titles": shares, "titles": found}, indent=1), encoding="utf-8")


def read_subjects() -> Subjects:
    rows = [line.split("\t") for line in SUBJECTS.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    return {session: re.compile(words, re.IGNORECASE) for _, session, words in rows}


def make_titles(project: str, transcripts: Path, subjects: Subjects) -> dict[str, str]:
    """The titles of a project's labelled sessions, each titled as rules read it; where none is labelled, of all."""
    with tempfile.TemporaryDirectory(prefix="oneiros-titles-") as scratch:
        found = read_sessions(project, transcripts, Path(scratch))
        titles = {one.record.session_id[:8]: make_title(one.turns, one.facts) for one in found}
    return {session: title for session, title in titles.items() if session in subjects} or titles


def share_of_bad_titles(titles: Mapping[str, str], subjects: Subjects) -> float:
    return sum(is_bad(title, subjects.get(session)) for session, title in titles.items()) / max(len(titles), 1)


def is_bad(title: str, subject: re.Pattern[str] | None) -> bool:
    """Whether a title tells nothing: by its form and, where the session is labelled, by what it does not name."""
    return title == WITHOUT_WORDS or bool(BARE.fullmatch(title) or (subject and not subject.search(title)))


def parts(projects: Iterable[str]) -> dict[str, list[str]]:
    chosen = [one for one in projects if one in CHOSEN_ON]
    rest = [one for one in projects if one not in CHOSEN_ON]
    return {"chosen on": chosen, "left out": rest, "all": [*chosen, *rest]}


def join_titles(found: Mapping[str, Mapping[str, str]], projects: Sequence[str]) -> dict[str, str]:
    return {session: title for project in projects for session, title in found[project].items()}


if __name__ == "__main__":
    main()
