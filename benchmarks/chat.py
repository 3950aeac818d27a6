"""Measures the chat: what it adds before the first word, whether citations are checked, and whether it leaks.

    python -m benchmarks.chat --json FILE [--chunks 10000]

`overhead_ms` is the median time from a question to the first piece of an answer with a warm daemon, where the back end
answers at once: recall, reading, the request and the keeping of nothing else. `false_citations_shown` counts seeded
false citations that came out as verified, of FALSE; `true_citations_lost` true ones that did not, of TRUE: half cited
in the text, half by a service, in streams cut at random. `leaked_into_memory` counts turns of chats that can be found
in archive, indices, sources or proposals, after settings that point every reader at the folder of the chats.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_text
from benchmarks.scale import questions
from benchmarks.synthetic import fill_vectors, write_corpus
from benchmarks.systems import catalogue
from crawler.archive.store import Archive
from crawler.archived import ArchivedSessions
from memory_server.document import Layer, SourcePath, raw_path
from memory_server.layers.topics import find_sources, read_text
from oneiros.cli.searching import ask_memory
from oneiros.environment import Environment
from parts.chat.chatting import build_chat
from parts.chat.citations import Citation, check_citations
from parts.chat.context import Look, build_source_reader
from parts.chat.records import Cited, ShownPassage
from tests.crawler.builders import person, write_transcript
from tests.dream.builders import archive_statements
from tests.memories import new_root
from tests.parts.chat.services import openai_events, streaming
from tests.system.house import CHECKOUT, House, wait_until

SEED = 28
RUNS = 30
FALSE = TRUE = 200
TURNS = 20
LINES = 8  # of a passage
LOOK_ALIKE = str.maketrans(
    "aceopxyiTKMHB", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0422\u041a\u041c\u041d\u0412"
)
LEVEL_SECONDS = 600.0
Claim = tuple[int, str, int, int]  # number of the passage, words, first and last line that a service would name


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chunks", type=int, default=10_000)
    arguments = parser.parse_args()
    print(machine_text())
    with tempfile.TemporaryDirectory(prefix="oneiros-chat-") as home:
        os.environ["HOME"] = home
        figures = overhead(arguments.chunks) | citations(Path(home) / "m") | {"leaked_into_memory": count_leaks()}
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:<24} {value}")


def overhead(chunks: int) -> dict[str, Any]:
    """What a person waits for beside the model."""
    with contextlib.closing(House()) as house, streaming(openai_events("It is so.")) as service:
        corpus = write_corpus(house.memory_root, chunks)
        fill_vectors(house.memory_root, catalogue().find())
        house.settle(chat_backend="openai-url", chat_url=service.url)
        house.client.start()
        wait_until(lambda: house.client.ask("GET", "/api/indexing")["runs"] > 0, LEVEL_SECONDS)
        environment = Environment(dict(house.variables), house.folder, house.folder)
        chat = build_chat(environment, house.memory_root, partial(ask_memory, environment, no_daemon=False))
        found, passages = list[float](), 0
        for question in questions(corpus, 6, RUNS + 1):
            began = time.perf_counter()
            context = chat.context(question, None)
            name = chat.conversations.begin(context.question)
            with contextlib.closing(chat.answer(context, name)) as pieces:
                next(pieces)
                found.append(1_000 * (time.perf_counter() - began))
            passages += len(context.passages)
        held = house.client.ask("GET", "/api/status")["passages"]
    return {
        "passages": held,
        "overhead_ms": round(statistics.median(found[1:]), 1),
        "overhead_slowest_ms": round(max(found[1:]), 1),
        "overhead_first_ms": round(found[0], 1),
        "passages_a_question": round(passages / len(found), 1),
    }


def citations(folder: Path) -> dict[str, Any]:
    """Seeded claims about the example memory and an archived session, true and false."""
    shutil.copytree(CHECKOUT / "memory", folder, dirs_exist_ok=True)
    root = new_root(folder)
    archive_statements(
        root, *(f"The relay number {one} listens on port {2500 + one} since May." for one in range(1, 30))
    )
    look = build_source_reader(root, ArchivedSessions(folder / "sessions" / "archive", root.sessions))
    sources = [(source.path, len(read_text(root.file(source.path)).splitlines())) for source in find_sources(root)]
    sources += [(raw_path(one), 25) for one in Archive(folder / "sessions" / "archive").session_ids()] * 3
    chance = random.Random(SEED)  # noqa: S311  the same claims in each run
    passages = [passage for path, count in sources for passage in read_passages(path, count, look)]
    passages = [replace(passage, number=number) for number, passage in enumerate(passages, start=1)]
    outside = folder.parent / "secret.md"
    outside.write_text("The relay listens on port 2525.\n", encoding="utf-8")
    for path in ("../secret.md", str(outside), "topics/../../secret.md", "chats/x.jsonl"):
        line = (1, "The relay listens on port 2525.")
        passages.append(ShownPassage(len(passages) + 1, SourcePath(path), Layer.TOPIC, "", (line,)))
    true = [claim for claim, _ in zip(true_claims(passages[:-4], chance), range(TRUE), strict=False)]
    false = [claim for claim, _ in zip(false_claims(passages, chance), range(FALSE), strict=False)]
    shown = sum(one.verified for one in verdicts(false, passages, look, chance))
    verified = sum(one.verified for one in verdicts(true, passages, look, chance))
    return {
        "false_citations_shown": shown,
        "true_citations_lost": len(true) - verified,
        "claims": len(true) + len(false),
    }


def read_passages(path: SourcePath, count: int, look: Look) -> Iterator[ShownPassage]:
    for first in range(1, count + 1, LINES):
        parts = look(path, first, min(count, first + LINES - 1))
        lines = tuple((place, part) for place, part in enumerate(parts, start=first) if part.strip())
        if lines:
            yield ShownPassage(1, path, Layer.TOPIC, "", lines)


def true_claims(passages: Sequence[ShownPassage], chance: random.Random) -> Iterator[Claim]:
    """Words in a row of one line or two."""
    while True:
        passage = chance.choice(passages)
        at = chance.randrange(len(passage.lines))
        taken = passage.lines[at : at + chance.choice((1, 1, 2))]
        words = " ".join(text for _, text in taken).split()
        count = min(len(words), chance.randint(4, 14))
        begin = chance.randrange(len(words) - count + 1)
        quote = chance.choice((" ", " ", "\n")).join(words[begin : begin + count])
        if len(quote) >= 12 and '"]' not in quote and len(quote) < 500:
            yield passage.number, quote, taken[0][0], taken[-1][0]


def false_claims(passages: Sequence[ShownPassage], chance: random.Random) -> Iterator[Claim]:
    """Claims that are false in each of seven ways, in turn; what happens to be true is left out."""
    real, outside = passages[:-4], passages[-4:]
    by_number = {passage.number: passage for passage in passages}
    for way, (number, words, first, last) in enumerate(true_claims(real, chance)):
        passage, claimed_words = by_number[number], words.split()
        other = chance.choice(real)
        match way % 7:
            case 0:  # another word
                claimed_words[chance.randrange(len(claimed_words))] += "x"
            case 1 if len(claimed_words) > 2:  # a word left out between two others
                del claimed_words[chance.randrange(1, len(claimed_words) - 1)]
            case 2:  # another line, as a service would name it
                places = [place for place, _ in passage.lines if not first <= place <= last]
                first = last = chance.choice(places or [last + 99])
            case 3:  # another file or passage
                number, first, last = other.number, other.lines[0][0], other.lines[-1][0]
            case 4:  # look-alikes
                claimed_words = [words.translate(LOOK_ALIKE)]
            case 5:  # two places as one
                claimed_words += next(true_claims([other], chance))[1].split()
            case _:  # out of the root, and what is too short to leave a word out
                found = chance.choice(outside)
                number, claimed_words, first, last = found.number, found.lines[0][1].split(), 1, 1
        claimed = by_number[number]
        stands = " ".join(" ".join(text for place, text in claimed.lines if first <= place <= last).split())
        if claimed in outside or " ".join(claimed_words) not in stands:
            yield number, " ".join(claimed_words), first, last


def verdicts(
    claims: Sequence[Claim], passages: Sequence[ShownPassage], look: Look, chance: random.Random
) -> list[Citation]:
    """What the chat says of each claim. One that names lines is a service's; the others stand in a stream of text."""
    found: list[Citation] = []
    by_number = {passage.number: passage for passage in passages}
    for place, (number, words, first, last) in enumerate(claims):
        passage = by_number[number]
        if place % 2 or first not in dict(passage.lines):
            pieces: list[Any] = [Cited(number, words, first, last)]
        else:  # a mark names no line: the passage is cut to those that are meant
            lines = tuple(line for line in passage.lines if first <= line[0] <= last)
            passage = replace(passage, number=1 + place % 900, lines=lines)
            text = f'So it is [{passage.number}: "{words}"], they say.'
            cuts = sorted({0, len(text), *(chance.randrange(len(text)) for _ in range(8))})
            pieces = [text[begin:end] for begin, end in pairwise(cuts)]
        one = [piece for piece in check_citations(pieces, [passage], look) if isinstance(piece, Citation)]
        assert len(one) == 1, pieces
        found += one
    return found


def count_leaks() -> int:
    """Turns that are found again where nothing of a chat may stand."""
    with contextlib.closing(House()) as house:
        texts = [f"From now on the marmot{number} server listens on port {7000 + number}." for number in range(TURNS)]
        with streaming(openai_events(*(f"Noted: {text} " for text in texts))) as service:
            chats = str(house.root / "chats")
            house.settle(
                chat_backend="openai-url",
                chat_url=service.url,
                query_log=False,  # the log of questions holds what recall was asked, by whomever
                crawl_roots=[chats, str(house.root)],
                reference_roots=[str(house.root), chats],
                reference_endings=[".md", ".jsonl"],
            )
            for text in texts:
                house.command("chat", text)
        name = next((house.root / "chats").glob("*.jsonl"))
        page = house.command("chat", "--export", name.stem).stdout
        (house.root / "chats" / "export.md").write_text(page, encoding="utf-8")
        write_transcript(house.folder / ".claude" / "projects" / "-srv-app", person(1, "The relay is green."))
        for command in ("ingest", "reindex", "dream"):
            house.command(command, check=False)
        archive = Archive(house.root / "sessions" / "archive")
        turns = " ".join(turn.text for one in archive.session_ids() for turn in archive.turns(one))
        assert "relay is green" in turns, "nothing was ingested, so nothing is shown"
        files = [file for top in (house.root, house.state) for file in top.rglob("*") if file.is_file()]
        held = b"".join(file.read_bytes() for file in files if file.parent.name != "chats").decode("latin-1") + turns
        return sum(
            f"marmot{number} " in held or bool(house.command("exact", f"marmot{number}", "--raw", check=False).stdout)
            for number in range(TURNS)
        )


if __name__ == "__main__":
    main()
