"""The systems that are entered: what each of them would keep of the pieces.

`rules`: a sentence of the person with a word that sounds like a rule. `plain`: a model with a plain prompt, a call a
project. `oneiros` and `oneiros-rules`: the way that the program has, from transcripts to what is offered, read by a
model and by its own rules. What models answered is recorded beside this file and found by the prompt.
"""

import datetime as dt
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.amended import write_one
from benchmarks.curation.pieces import Offer, Piece
from benchmarks.reading import read_project
from benchmarks.recorded import hash_prompt, recorded_pairs, replay
from crawler.model.client import ModelClient

PIECES_READ, PLAINLY_READ = (Path(__file__).with_name(f"{name}.jsonl.xz") for name in ("oneiros", "plain"))
SIGNS = re.compile(
    r"(?i)\b(?:always|never|must|should|only|please|don't|do not|prefer|use|want|instead|from now on|remember)\b"
)
SENTENCE = re.compile(r"[^.?!\n]+[.!]?(?=\s|$)|[^.?!\n]+\?")
PLAIN_PROMPT = """\
You are the memory of a coding assistant. Below are sessions of one project in the order of their days. Write down what
is worth remembering for later sessions: decisions, rules, preferences, corrections, facts and findings.

Answer with a JSON list and nothing else: [{"piece": "p001", "statement": "...", "kind": "decision|rule|preference|\
correction|fact|finding", "scope": "project, or person where it holds in all projects, or the name of another project"}]
"""


def offer_by_rules(pieces: Sequence[Piece]) -> Iterator[Offer]:
    """Each sentence of the person, no question, that holds one of the signs."""
    for piece in pieces:
        for who, words in piece.turns:
            for sentence in SENTENCE.findall(words) if who == "person" else ():
                if SIGNS.search(sentence) and not sentence.endswith("?"):
                    yield Offer(piece.id, sentence.strip())


def offer_by_plain_prompt(pieces: Sequence[Piece]) -> Iterator[Offer]:
    """What a model wrote down that was asked plainly."""
    answers = dict(recorded_pairs(PLAINLY_READ))
    for prompt in build_plain_prompts(pieces):
        for row in json.loads(answers[hash_prompt(prompt)]):
            yield Offer(row["piece"], row["statement"], row["kind"], row["scope"])


def build_plain_prompts(pieces: Sequence[Piece]) -> Iterator[str]:
    """A prompt for each project."""
    for own in group_by_project(pieces).values():
        shown = [f"== {one.id}, {one.day}\n" + "\n".join(f"{who}: {words}" for who, words in one.turns) for one in own]
        yield f"{PLAIN_PROMPT}\nProject: {own[0].project}\n\n" + "\n\n".join(shown) + "\n"


def offer_by_oneiros(pieces: Sequence[Piece]) -> Iterator[Offer]:
    """What the program offers where a model reads, as it was recorded."""
    return offer_read(pieces, replay(PIECES_READ))


def offer_read(pieces: Sequence[Piece], client: ModelClient | None = None) -> Iterator[Offer]:
    """What the program offers of transcripts of the pieces, by what a model reads, or its own rules for None."""
    with tempfile.TemporaryDirectory(prefix="oneiros-curation-") as folder:
        live, work = Path(folder) / "live", Path(folder) / "work"
        work.mkdir()
        for project, own in group_by_project(pieces).items():
            by_session = write_transcripts(own, live / project)
            for candidate in read_project(live / project, client, work).offered:
                yield Offer(by_session[candidate.quotes[0].session_id], candidate.text, str(candidate.kind))


def write_transcripts(pieces: Sequence[Piece], folder: Path) -> dict[str, str]:
    """Writes a transcript of each piece, as the client would. Returns the pieces by their sessions."""
    known = dict[str, str]()
    for piece in pieces:
        number = int(piece.id[1:]) + 1_000 * (piece.origin == "real")
        begun = dt.datetime.fromisoformat(f"{piece.day}T12:00:00+00:00") + dt.timedelta(seconds=number)
        turns = [("user" if who == "person" else who, words) for who, words in piece.turns]
        known[write_one(folder, number, begun, turns, piece.project)] = piece.id
    return known


def group_by_project(pieces: Sequence[Piece]) -> Mapping[str, list[Piece]]:
    """The pieces of each project, by day."""
    found: dict[str, list[Piece]] = defaultdict(list)
    for piece in sorted(pieces, key=lambda one: (one.day, one.id)):
        found[piece.project].append(piece)
    return found


SYSTEMS: Mapping[str, Callable[[Sequence[Piece]], Iterator[Offer]]] = {
    "rules": offer_by_rules,
    "plain": offer_by_plain_prompt,
    "oneiros-rules": offer_read,
    "oneiros": offer_by_oneiros,
}
