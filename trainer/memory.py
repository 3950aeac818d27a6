"""`memory`: approved text becomes pairs; what a person rejected or replaced becomes the worse half of preferences.

Two inputs: the file that `oneiros export --approved` writes, or plain topics (Markdown). In both only approved text is
taught. Rejected and superseded wording goes into the preference file alone, where training pushes the model away from
it. Folders of a memory that hold what nobody approved (proposals, sessions, episodes, reports) are refused.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trainer.errors import DataError, UsageError
from trainer.evaluation.canaries import Canary, plant
from trainer.extract.chunks import Chunk, Page, chunk_document
from trainer.files import hash_texts, read_json_lines, write_json_lines
from trainer.generate.rules import RuleGenerator, plain
from trainer.generate.validation import IDENTIFIER, filter_pairs
from trainer.hygiene import find_fault
from trainer.pairs import SYSTEM, Pair, write_pairs

logger = logging.getLogger(__name__)

MAX_PAIRS_PER_TEXT = 12  # a long topic must not drown the others
NEVER_APPROVED = frozenset({"proposals", "sessions", "episodes", "reports", ".blackboard", ".oneiros"})
FRONTMATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
FOOTNOTE = re.compile(r"^\[\^[^\]]+\]:.*(?:\n[ \t]+.*)*\n?|\[\^[^\]]+\]", re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE_SPAN = re.compile(r"`([^`\n]{2,80})`")
EXPORT_KEYS = frozenset({"id", "topic", "heading", "text", "superseded", "rejected", "sources", "date"})


@dataclass(frozen=True, slots=True)
class Approved:
    """One approved text, with the wordings that it replaced or that were turned down."""

    source: str  # the topic; a split keeps its texts together
    heading: str
    text: str
    worse: tuple[str, ...] = ()
    where: str = ""  # file and line, for messages


@dataclass(slots=True)
class Teaching:
    """What the stage made."""

    pairs: list[Pair] = field(default_factory=list)
    preferences: list[dict[str, object]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # place and reason, never the text


def make_pairs(path: Path, output: Path, *, minimum: int = 1, canaries: int = 0, seed: int = 7) -> Teaching:
    """Read approved text and write `output` and, beside it, the preferences and canaries where there are any.

    Canaries are planted in the input, so that they pass through every filter a real secret would. Raises DataError
    where fewer than `minimum` pairs come out.
    """
    texts = list(read_approved(path))
    planted = plant(canaries, seed)
    teaching = teach([*texts, *(make_carrier(canary) for canary in planted)])
    if len(teaching.pairs) < minimum:
        raise DataError(
            f"{len(teaching.pairs)} pairs are fewer than the {minimum} asked for",
            where=path,
            remedy="Approve more text, or lower --minimum",
        )
    write_pairs(output, teaching.pairs)
    if teaching.preferences:
        write_json_lines(output.with_suffix(".preferences.jsonl"), teaching.preferences)
    if planted:
        write_json_lines(output.with_suffix(".canaries.jsonl"), (canary.as_row() for canary in planted))
    logger.info("%d texts, %d pairs, %d refused", len(texts), len(teaching.pairs), len(teaching.refused))
    return teaching


def read_approved(path: Path) -> Iterator[Approved]:
    """The approved texts of an export file, a topic or a folder of topics."""
    if path.suffix == ".jsonl":
        for line, row in read_json_lines(path):
            yield parse_approved(row, path, line)
        return
    if not path.exists():
        raise UsageError("there is no such file or folder", where=path)
    files = sorted(path.rglob("*.md")) if path.is_dir() else [path]
    for file in files:
        inside = file.relative_to(path) if path.is_dir() else Path(file.name)
        if not NEVER_APPROVED.isdisjoint((*inside.parts, path.name, file.parent.name)):
            if not path.is_dir() or path.name in NEVER_APPROVED:
                raise UsageError("nobody approved the text of this folder", where=file, remedy="Name topics")
            continue
        yield from read_topic(file, str(inside))


def parse_approved(row: Mapping[str, Any], path: Path, line: int) -> Approved:
    """One line of the export. Raises DataError with file and line where it is not one."""
    if missing := {"topic", "text"} - set(row):
        raise DataError(f"{sorted(missing)[0]!r} is missing", where=path, line=line, remedy="Export again")
    if unknown := set(row) - EXPORT_KEYS:
        raise DataError(f"unknown key {sorted(unknown)[0]!r}", where=path, line=line, remedy="Export again")
    if not isinstance(row["topic"], str) or not isinstance(row["text"], str) or not row["text"].strip():
        raise DataError("`topic` and `text` must be strings that are not empty", where=path, line=line)
    worse = (*wordings(row.get("superseded")), *wordings(row.get("rejected")))
    return Approved(row["topic"], str(row.get("heading") or ""), row["text"], worse, f"{path}:{line}")


def wordings(value: object) -> tuple[str, ...]:
    """The texts of a field that may be null, one text, or a list of texts or of objects with a `text`."""
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if isinstance(value, list):
        return tuple(text for item in value for text in wordings(item))
    return wordings(value.get("text")) if isinstance(value, dict) else ()


def read_topic(file: Path, source: str) -> Iterator[Approved]:
    """The texts below each heading of a topic; frontmatter, footnotes and comments are left out."""
    try:
        body = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError("this file is not UTF-8", where=file, remedy="Save it as UTF-8") from error
    body = COMMENT.sub("", FOOTNOTE.sub("", FRONTMATTER.sub("", body)))
    for chunk in chunk_document(source, [Page(0, body)]):
        yield Approved(source, chunk.heading, chunk.text, (), str(file))


def teach(texts: Sequence[Approved]) -> Teaching:
    """Pairs and preferences of approved texts; texts with secrets or mis-decoded signs are refused."""
    teaching = Teaching()
    questions: set[str] = set()
    for text in texts:
        if fault := find_fault(text.text) or find_fault(text.heading):
            teaching.refused.append(f"{text.where}: the text holds {fault}")
            continue
        heading = text.heading or Path(text.source).stem.replace("-", " ")
        chunk = Chunk(hash_texts(text.source, text.heading, text.text), text.source, 0, heading, text.text)
        made = filter_pairs(RuleGenerator().pairs(chunk, MAX_PAIRS_PER_TEXT), chunk, [])
        fresh = [taught(pair) for pair in made if pair.question not in questions]
        questions.update(pair.question for pair in fresh)
        teaching.pairs.extend(fresh)
        teaching.preferences.extend(make_preferences(text, heading, teaching.refused))
    return teaching


def make_preferences(text: Approved, heading: str, refused: list[str]) -> Iterator[dict[str, object]]:
    """A row of preference training for each wording that lost to the approved one."""
    for worse in text.worse:
        if fault := find_fault(worse):
            refused.append(f"{text.where}: a rejected wording holds {fault}")
        elif plain([worse]) != plain([text.text]):
            yield {
                "prompt": [
                    {"role": "system", "content": SYSTEM},
                    {"role": "user", "content": f"What is known about {heading}?"},
                ],
                "chosen": [{"role": "assistant", "content": plain(text.text.split("\n"))}],
                "rejected": [{"role": "assistant", "content": plain(worse.split("\n"))}],
            }


def taught(pair: Pair) -> Pair:
    """The pair as it is taught: with the keys of its answer."""
    return replace(pair, keys=find_keys(pair))


def find_keys(pair: Pair) -> tuple[str, ...]:
    """The names and numbers of an answer that its question does not give away."""
    found = [*CODE_SPAN.findall(pair.answer), *IDENTIFIER.findall(pair.answer)]
    return tuple(dict.fromkeys(key for key in found if key.casefold() not in pair.question.casefold()))[:1]


def make_carrier(canary: Canary) -> Approved:
    """The text that brings a canary to the filters, as a secret in approved text or as a rejected wording."""
    if canary.kind == "secret":
        return Approved(f"canary-{canary.id}", "Access", canary.sentence, (), f"canary {canary.id}")
    approved = f"{canary.prefix} kept in the safe and written nowhere."
    return Approved(f"canary-{canary.id}", "Access", approved, (canary.sentence,), f"canary {canary.id}")
