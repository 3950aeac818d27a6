"""What is said of approved files in a state that nobody answered for, to the model and to the person.

The same memory gives the same bytes: no clock, no counter, so that prompt caches and resumed sessions stay whole.
"""

from collections.abc import Sequence

from dream.approvals import Unexplained
from memory_server.escaping import shown_line

MOST_FOR_MODEL = 10
MOST_FOR_PERSON = 3
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
    """One line, where anything is unexplained."""
    if not found:
        return []
    named = ", ".join(map(named_doubt, found[:MOST_FOR_PERSON]))
    more = f" and {len(found) - MOST_FOR_PERSON} more" if len(found) > MOST_FOR_PERSON else ""
    return [f"Changed without your acceptance: {named}{more}. `oneiros review` shows them."]


def named_doubt(one: Unexplained) -> str:
    """A file and what became of it."""
    return f"{shown_line(one.path)} ({one.what})"
