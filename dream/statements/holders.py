"""Who holds something that one person or team holds at a time: owns it, maintains it, leads it, is responsible for it.

`Tom owns billing` and `Ines took over billing` fill the same slot, although a name at the start of a sentence is no
value by itself.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dream.statements.words import content_words

ROLE = "owner|maintainer|lead|manager|contact"
HOLDS = re.compile(
    r"^(?:now\s+|currently\s+)?(?P<who>(?:[\w.'-]+\s+){1,3}?)(?:now\s+|currently\s+)?"
    r"(?:owns?|maintains?|leads?|manages?|(?:has\s+)?(?:took|taken|takes)\s+over"
    rf"|(?:is|are)\s+(?:now\s+)?(?:responsible\s+for|in\s+charge\s+of|the\s+(?:{ROLE})\s+(?:of|for)))\s+(?P<what>[^,;.]+)",
    re.IGNORECASE,
)
HELD_BY = re.compile(
    r"^(?P<what>[^,;.]+?)\s+(?:is|are)\s+(?:now\s+)?(?:owned|maintained|led|managed)\s+by\s+(?P<who>(?:[\w.'-]+\s*){1,3})",
    re.IGNORECASE,
)
WHEN_OR_WHY = re.compile(r"\s+(?:since|because|from|now|as|until|while|these days|any ?more)\b.*", re.IGNORECASE)
NOBODY_NAMED = re.compile(r"\b(?:i|we|you|he|she|it|they|who|which|that|this|nobody|also)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Holder:
    """One who holds something. Both are told by their telling words."""

    name: str
    who: frozenset[str]
    what: frozenset[str]


def holders_in(text: str) -> Iterator[Holder]:
    """The holders that a statement names at its start."""
    for pattern in (HOLDS, HELD_BY):
        found = pattern.match(text)
        if found and not NOBODY_NAMED.search(found["who"]):
            who = WHEN_OR_WHY.sub("", found["who"]).strip()
            what = frozenset(content_words(WHEN_OR_WHY.sub("", found["what"])))
            if what:
                yield Holder(who, frozenset(content_words(who)), what)
