"""Draws the pictures of docs/page.md and the README from genuine sessions.

    python -m benchmarks.pictures docs/images --data DIR... [--names FILE]

The sessions go into a memory as `benchmarks.filing` makes it: what a model read in them, recorded, becomes statements
under topics; those surely kept are taken up, others wait. Before anything is read, home folders, addresses, accounts in
whose home folders sessions ran, and the names of FILE, one a line, are replaced in the transcripts. Needs `make
setup-page`.
"""

import argparse
import contextlib
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from benchmarks.filing import PERSON, Made, build_parser
from benchmarks.page import FOLLOW, LEVEL_SECONDS, window
from benchmarks.sessions import copy_transcripts
from dream.records import State
from dream.topics import read_topics
from memory_server.errors import ContentError
from tests.dream.builders import git
from tests.system.house import House, wait_until

REPLACED = (  # what stands for people in the transcripts of whoever
    (re.compile(r"/(?:Users|home)/[A-Za-z0-9._-]+/"), "/home/ann/"),
    (re.compile(r"(?a)(?<![\\\w.%+-])[A-Za-z0-9._%+-]+@(?!anthropic)[A-Za-z0-9-]+\.[a-z.]{2,}"), "ann@example.org"),
)
RAN_IN = re.compile(r'"cwd": ?"/(?:Users|home)/([A-Za-z0-9._-]+)')  # homes that are merely named may be made up
SAY_HOME = """folder => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(folder, "~");
}"""
WAITING = 12  # changes that are left to be decided
QUESTION = "which model is used for the evaluation"


def main() -> None:
    """Reads the command line, makes the memory and draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders of transcripts")
    parser.add_argument("--names", type=Path, help="names to be replaced, a word or phrase a line")
    options = parser.parse_args()
    names = options.names.read_text(encoding="utf-8").splitlines() if options.names else []
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="oneiros-pictures-") as home, contextlib.closing(House()) as house:
        os.environ["HOME"] = home
        addresses = fill(house, options.data, names)
        house.client.start()
        wait_until(lambda: house.client.ask("GET", "/api/indexing")["stage"] == "idle", LEVEL_SECONDS)
        for name, (address, width, height, scheme) in addresses.items():
            with window(house, viewport={"width": width, "height": height}, color_scheme=scheme) as page:
                page.evaluate(FOLLOW, [address, "h1"])
                page.wait_for_timeout(1_500)
                page.evaluate(SAY_HOME, str(house.folder))
                page.screenshot(path=str(options.folder / f"page-{name}.png"))


def fill(house: House, data: list[Path], names: list[str]) -> dict[str, tuple[Any, ...]]:
    """A memory of the sessions below some folders, all but some changes taken up.

    Of each picture: the address, the size of the window and the colours.
    """
    live = house.folder / ".claude" / "projects"
    copy_transcripts(data, live, {})
    hide_people(live, names)
    for topic in (house.root / "topics").iterdir():
        topic.unlink()
    made = Made(house.memory_root, live, build_parser().parse_args(["--data", *map(str, data)]))
    git(house.root, "init", "-q")
    made.dream()
    with made.decisions.together():
        for hunk in [one for one in made.decisions.store.hunks() if one.state is State.PENDING][:-WAITING]:
            with contextlib.suppress(ContentError):  # one that an accepted one has left no place
                made.decisions.accept(hunk.id, PERSON)
    git(house.root, "add", "-A", ":!.oneiros")
    git(house.root, "commit", "-q", "-m", "Take up what sessions settled")
    house.command("ingest", seconds=1_800)
    largest = max(read_topics(house.memory_root).files, key=lambda topic: len(topic.statements))
    sessions = Counter(hunk.update.candidate.quotes[0].session_id for hunk in made.decisions.store.hunks())
    [(session, _)] = sessions.most_common(1)
    wide, phone = (1280, 860), (360, 740)
    return {
        "review": ("/review", *wide, "light"),
        "today": ("/today", *wide, "dark"),
        "search": (f"/search?q={QUESTION.replace(' ', '+')}", *wide, "light"),
        "topics": ("/topics", *wide, "light"),
        "topic": (f"/{str(largest.path).removesuffix('.md')}", *wide, "light"),
        "sessions": ("/sessions", *wide, "light"),
        "session": (f"/sessions/{session}?depth=raw", *wide, "dark"),
        "chat": ("/chat", *wide, "light"),
        "notes": ("/notes", *wide, "light"),
        "settings": ("/settings", *wide, "light"),
        "trainers": ("/trainers", *wide, "light"),
        "phone": ("/review", *phone, "light"),
    }


def hide_people(live: Path, names: Iterable[str]) -> None:
    """Replaces what stands for people in the transcripts below a folder."""
    texts = {file: file.read_text(encoding="utf-8", errors="surrogateescape") for file in live.rglob("*.jsonl")}
    accounts = {account for text in texts.values() for account in RAN_IN.findall(text)}
    named = match_names({*filter(None, map(str.strip, names)), *accounts})
    for file, text in texts.items():
        for who, instead in (*REPLACED, (named, "ann")):
            text = who.sub(instead, text)
        file.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")


def match_names(names: Collection[str]) -> re.Pattern[str]:
    """What finds names in JSON, in any case, their words joined by any character or none; nothing for no names."""
    phrases = (r"[\W_]?".join(map(match_word, name.split())) for name in sorted(names, key=len, reverse=True))
    # what ends a line is written as a letter
    return re.compile(rf"(?i)(?:(?<![^\W_])|(?<=\\[nrt]))(?:{'|'.join(phrases) or '(?!)'})(?![^\W_])")


def match_word(word: str) -> str:
    """A word as JSON may write it: as it is, or its accents as numbers, which differ between the cases."""
    forms = {word, *(json.dumps(form)[1:-1] for form in (word, word.lower(), word.upper(), word.title()))}
    return f"(?:{'|'.join(map(re.escape, sorted(forms)))})"


if __name__ == "__main__":
    main()
