"""Draws the pictures of docs/page.md and the README from genuine sessions.

    python -m benchmarks.pictures docs/images --data DIR...

The sessions go into a memory as `benchmarks.filing` makes it: what a model read in them, recorded, becomes statements
under topics; those surely kept are taken up, others wait. Names, addresses and home folders of people are replaced in
the transcripts before anything is read. Needs `make setup-page`.
"""

import argparse
import contextlib
import os
import re
import tempfile
from collections import Counter
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

REPLACED = (  # what stands for people in the transcripts
    (re.compile(rb"/(?:Users|home)/[A-Za-z0-9._-]+/"), b"/home/ann/"),
    (re.compile(rb"(?<![\\\w.%+-])[A-Za-z0-9._%+-]+@(?!anthropic)[A-Za-z0-9-]+\.[a-z.]{2,}"), b"ann@example.org"),
    (re.compile(rb"(?i)daniel[ .]?demmel"), b"ann-smith"),
    (re.compile(rb"(?i)christian\W?boos|cboos|c[e\xc3\xa9\xa8]+dric\W?teyton"), b"ben"),
    (re.compile(rb"\b(?:dain|daaain)\b"), b"ann"),
)
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
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="oneiros-pictures-") as home, contextlib.closing(House()) as house:
        os.environ["HOME"] = home
        addresses = fill(house, options.data)
        house.client.start()
        wait_until(lambda: house.client.ask("GET", "/api/indexing")["stage"] == "idle", LEVEL_SECONDS)
        for name, (address, width, height, scheme) in addresses.items():
            with window(house, viewport={"width": width, "height": height}, color_scheme=scheme) as page:
                page.evaluate(FOLLOW, [address, "h1"])
                page.wait_for_timeout(1_500)
                page.evaluate(SAY_HOME, str(house.folder))
                page.screenshot(path=str(options.folder / f"page-{name}.png"))


def fill(house: House, data: list[Path]) -> dict[str, tuple[Any, ...]]:
    """A memory of the sessions below some folders, all but some changes taken up.

    Of each picture: the address, the size of the window and the colours.
    """
    live = house.folder / ".claude" / "projects"
    copy_transcripts(data, live, {})
    for file in live.rglob("*.jsonl"):
        text = file.read_bytes()
        for who, instead in REPLACED:
            text = who.sub(instead, text)
        file.write_bytes(text)
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
        "settings": ("/settings", *wide, "light"),
        "phone": ("/review", *phone, "light"),
    }


if __name__ == "__main__":
    main()
