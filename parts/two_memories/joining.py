"""The answers of two memories as one: a project's, in which somebody is at work, and the account's beside it.

Scores of two memories cannot be compared. What can is read on scales that each memory learnt for itself: how sure a hit
is, as a word, and the probability that a memory answers the question at all. So the surer word stands first, and of one
word the project's, which says what holds here, unless the account's memory is much likelier to answer. Every source of
the account's is named by an address, `account:topics/mail.md`, that no file of a memory can have as its path.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from memory_server.document import Answer, Certainty, ChunkId, Hit, SourcePath
from memory_server.escaping import escape_line
from memory_server.search.pipeline import NOTHING, PERHAPS
from memory_server.search.precedence import ORDER
from memory_server.search.question import EMPTY, Question, Search
from memory_server.search.ranking.ranking import FLOOR

ACCOUNT = "account"
PREFIX = f"{ACCOUNT}:"  # of an address; sources lie in folders of fixed names, or are pages such as MEMORY.md
LIKELIER = 3.0  # odds of the account's over the project's from which on it leads; chosen by `benchmarks.two_memories`
BOTH = "Two memories answer; where they differ, the project's holds here."
THEIRS_ALONE = "Only the account's memory answers that; the project's does not."


def make_address(path: str) -> SourcePath:
    """The address of a source of the account's memory."""
    return SourcePath(PREFIX + path)


def in_account(name: str) -> str:
    """What an address names in the account's memory; empty where a name is no such address."""
    return name.strip().removeprefix(PREFIX) if name.strip().startswith(PREFIX) else ""


def join_answers(question: Question, ours: Answer, theirs: Answer, project: str, likelier: float = LIKELIER) -> Answer:
    """One answer of the project's memory and of the account's. `project`: its name. `likelier`: for measurements.

    An answer of less confidence than the floor adds nothing but its surer hits to one of more.
    """
    mine = [replace(hit, memory=f"project {escape_line(project)}") for hit in _worth(question, ours, theirs)]
    other = [_of_account(hit) for hit in _worth(question, theirs, ours)]
    leads = _odds(theirs) > likelier * _odds(ours)
    hits = _merge_hits(*((other, mine) if leads else (mine, other)))[: question.limit]
    return replace(
        ours,
        hits=tuple(hits),
        note=_note(question, ours, theirs, hits),
        lacks=" ".join(filter(None, [ours.lacks, theirs.lacks and f"{ACCOUNT.capitalize()}: {theirs.lacks}"])),
        terms=tuple(dict.fromkeys([*ours.terms, *theirs.terms])),
        confidence=max(ours.confidence, theirs.confidence),
    )


def _odds(answer: Answer) -> float:
    return answer.confidence / max(1e-9, 1 - answer.confidence)


def _of_account(hit: Hit) -> Hit:
    return replace(
        hit,
        chunk=ChunkId(PREFIX + hit.chunk),
        path=make_address(hit.path),
        memory=ACCOUNT,
        replaced_by=make_address(hit.replaced_by) if hit.replaced_by else None,
    )


def _worth(question: Question, answer: Answer, other: Answer) -> Sequence[Hit]:
    """The hits that are worth a place beside those of another memory."""
    is_outdone = question.search is Search.RECALL and answer.confidence < FLOOR <= other.confidence
    return [hit for hit in answer.hits if not (is_outdone and hit.certainty is Certainty.PERHAPS)]


def _merge_hits(first: Sequence[Hit], second: Sequence[Hit]) -> list[Hit]:
    """Both lists as one, each in its own order: by certainty, and in turn where that is the same."""
    in_turn = (
        pair
        for word in ORDER
        for pair in zip_longest(*([hit for hit in hits if hit.certainty is word] for hits in (first, second)))
    )
    return [hit for hit in chain.from_iterable(in_turn) if hit]


def _note(question: Question, ours: Answer, theirs: Answer, hits: Sequence[Hit]) -> str:
    """What to tell: whether the memory that leads answers at all, who answers, and what the project's says beside."""
    if not hits:
        return ours.note
    led_by = theirs if hits[0].memory == ACCOUNT else ours
    perhaps = PERHAPS if led_by.note.startswith(PERHAPS) else ""
    if ours.note == NOTHING[question.search] or ours.note.startswith(EMPTY):
        return " ".join(filter(None, [perhaps, THEIRS_ALONE]))
    both = BOTH if len({hit.memory for hit in hits}) > 1 else ""
    return " ".join(filter(None, [perhaps, both, ours.note.removeprefix(PERHAPS).strip()]))
