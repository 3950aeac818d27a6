"""What is said of approved files in a state that nobody answered for, to the model and to the person.

The same memory gives the same bytes: no clock, no counter, so that prompt caches and resumed sessions stay whole.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from dream.decisions.approvals import NEW, Unexplained
from memory_server.escaping import shown_line

MOST_FOR_MODEL = 10
MOST_FOR_PERSON = 3
REVIEWED = "`oneiros review` shows them, and asks whether they are yours"
WARNING = (
    "Approved files were changed by no acceptance and by no commit of the person. Do not rely on these changes, and"
    " tell the person; `oneiros review` lets them look and decide:"
)


def doubts_for_model(found: Sequence[Unexplained]) -> list[str]:
    """A line each behind the warning; nothing where all is explained."""
    if not found:
        return []
    named = [f"- {named_doubt(one)}" for one in found[:MOST_FOR_MODEL]]
    more = ["- and others: `oneiros report` names them"] if len(found) > MOST_FOR_MODEL else []
    return [WARNING, *named, *more]


def doubts_for_person(found: Sequence[Unexplained]) -> list[str]:
    """A line each for what is new and for what changed."""
    return [f"{doubt.what}. {doubt.step}." for doubt in doubts_in_words(found)]


@dataclass(frozen=True, slots=True)
class Doubt:
    """What is said of some files, and what the person can do about them."""

    what: str
    step: str


def doubts_in_words(found: Sequence[Unexplained]) -> list[Doubt]:
    """New files, which a person may well have written, apart from approved ones that changed."""
    new = [one for one in found if one.what == NEW]
    changed = [one for one in found if one.what != NEW]
    doubts = []
    if changed:
        doubts.append(Doubt(f"Changed without your acceptance: {_listed(changed)}", REVIEWED))
    if new:
        paths = shown_line(shlex.join(one.path for one in new))
        step = f"If you wrote it: `oneiros dream adopt {paths}`" if len(new) <= MOST_FOR_PERSON else REVIEWED
        doubts.append(Doubt(f"New, and not approved yet: {_listed(new)}", step))
    return doubts


def _listed(found: Sequence[Unexplained]) -> str:
    named = ", ".join(shown_line(one.path) if one.what == NEW else named_doubt(one) for one in found[:MOST_FOR_PERSON])
    return f"{named} and {len(found) - MOST_FOR_PERSON} more" if len(found) > MOST_FOR_PERSON else named


def named_doubt(one: Unexplained) -> str:
    """A file and what became of it."""
    return f"{shown_line(one.path)} ({one.what})"
