"""Which of some passages takes back what an older one says, or speaks of the same later: the later is read first.

A sentence amends an older passage of its project where it holds a form of words that does so and speaks of the same:
the two passages are near in meaning, and SHARED content words of the sentence stand in the older one, one of them a
word of the question. Forms that merely compare (`instead of`, `but`) are none: they would put every second reply before
what it replies to. A passage that a model read amends too where SHARE of the words stand in the older one by which the
model named what it ends, again one of the question among them.

What a person told later on the same, in other words, may have taken the older one's place and is not known to have.
"""

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory_server.language.cues import ignore_case
from memory_server.language.sentences import split_sentences
from memory_server.language.words import content_words

SHARED = 3
SAME, SHARE = 2, 0.5  # content words that two statements on the same have in common
AMENDS = ignore_case(
    r"\b(?:supersed(?:e[sd]?|ing)|amend(?:s|ed|ing|ment)?|withdr(?:aws?|ew|awn|awing)|overrul\w+|retract\w*"
    r"|disprov\w+|no longer|not [^.\n]{2,60} any ?more|chang(?:e|ed|ing) (?:my|our|your) minds?"
    r"|(?:turn(?:s|ed) out|proved|was|were) (?:to be )?(?:wrong|false|incorrect|mistaken"
    r"|not (?:true|the (?:real )?(?:cause|reason|case|problem|culprit)))"
    r"|(?:replac|revers|revis|reconsider)(?:es?|ed|ing)\b[^.\n]{0,60}\b(?:decision|choice|earlier|previous|former|old"
    r"|original|plan|rule|approach)|instead of (?:the |our )?(?:earlier|previous|former|original)|turned down"
    r"|(?:decided|voted) against|abandon(?:s|ed|ing)?|(?:was|were|is|are|been) (?:dropped|scrapped|rejected)"
    r"|(?:switch|mov|chang|bump|rais|lower|renam)(?:e[sd]?|ed|ing)?\b[^.\n]{0,60}\bfrom\b[^\n]{1,60}\bto\b)"
)


@dataclass(frozen=True, slots=True)
class SpokenPassage:
    """A passage of what was said, and when."""

    source: int
    project: str
    date: dt.date | None
    turn: int  # within its session
    text: str
    own: str = ""  # what of it the person told; nothing where they ask
    takes_back: Sequence[str] = ()  # what it ends, in a reader's words

    def is_later(self, other: "SpokenPassage") -> bool:
        if self.source == other.source:
            return self.turn > other.turn
        return bool(self.date and other.date and self.date > other.date and self.project == other.project)


@dataclass(frozen=True, slots=True)
class Retraction:
    """What a passage says that it takes back."""

    words: set[str]
    least: float  # of them that an older passage holds
    is_noted: bool = False  # by a reader, rather than told by a form of words


def _find_retractions(one: SpokenPassage) -> Iterator[Retraction]:
    for sentence in split_sentences(one.text):
        if AMENDS.search(sentence):
            yield Retraction(set(content_words(sentence)), SHARED)
    for ended in one.takes_back:
        words = set(content_words(ended))
        yield Retraction(words, max(SAME, SHARE * len(words)), is_noted=True)


def find_newer(passages: Sequence[SpokenPassage], question_words: Collection[str]) -> Mapping[int, int]:
    """For the place of each statement, that of the latest one of another session and a later day on the same.

    On the same is what persons told in one project: of the content words of the shorter one SHARE, SAME at least,
    stand in the other, and all words of the question that the older one holds. The same words again are nothing newer.
    """
    words = [set(content_words(one.own)) for one in passages]
    newer: dict[int, int] = {}
    for place, older in enumerate(passages):
        later = [
            other
            for other, one in enumerate(passages)
            if one.source != older.source
            and one.is_later(older)
            and words[other] != words[place]
            and len(held := words[other] & words[place]) >= max(SAME, SHARE * min(len(words[other]), len(words[place])))
            and (wanted := words[place] & set(question_words))
            and wanted <= held
        ]
        if later:
            newer[place] = max(later, key=lambda other: (passages[other].date or dt.date.min, passages[other].turn))
    return newer


def find_amenders(
    passages: Sequence[SpokenPassage], question_words: Collection[str], is_alike: Callable[[int, int], bool]
) -> Mapping[int, int]:
    """For the place of each passage that a later one amends, the place of the latest one that does.

    `question_words`: its content words. `is_alike`: whether the passages at two places are near in meaning.
    """
    wanted = set(question_words)
    retractions: dict[int, list[Retraction]] = {}
    for place, one in enumerate(passages):
        if telling := [retraction for retraction in _find_retractions(one) if retraction.words & wanted]:
            retractions[place] = telling
    if not retractions:
        return {}
    words = [set(content_words(one.text)) for one in passages]
    amended: dict[int, int] = {}
    for place, older in enumerate(passages):
        later = [
            other
            for other, telling in retractions.items()
            if passages[other].is_later(older)
            and any(
                len(held := retraction.words & words[place]) >= retraction.least
                and held & wanted
                and (retraction.is_noted or is_alike(place, other))
                for retraction in telling
            )
        ]
        if later:
            amended[place] = max(later, key=lambda other: (passages[other].date or dt.date.min, passages[other].turn))
    return amended
