"""Names a group of statements by its subject: the heading that most of them stand under, else the words they share."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from dream.subjects.grouping import Item
from memory_server.language.words import WORD, content_words, stem

NAME_WORDS = 2
HEADING_CHARS = 48
NUMBERING = re.compile(r"^(?:(?:rule|step|part|section|phase)\s+)?\d+(?:\.\d+)*\s*[.):\-–—]*\s+(?=\S)", re.IGNORECASE)
BEHIND = re.compile(r"\s*(?:\([^)]*\)|\[[^\]]*\]|\s[–—-]\s.*|:\s.*)\s*$")  # what a heading adds to its subject
MARKS = re.compile(r"[`*_#$<>\"]|[^\w\s&/+.:,'()@-]")
SAYS_NOTHING = frozenset(
    """
    additional agent agents claude code common conventions critical core development essential
    example examples general global guide guidelines hard important info information instructions introduction key
    main mandatory md memory misc miscellaneous more must never note notes other overview please policies practices
    principles project quick read readme reference repository required rule rules section sections standards start
    summary tips todo very what why with working
    """.split()
)  # of a heading: words that stand above any subject


RULE_WORDS = frozenset(stem(word) for word in "every whenever without within unless cannot via rule".split())


def name_of_group(group: Sequence[Item], others: Sequence[Item], taken: Collection[str] = ()) -> str:
    """The subject of a group as a title, none of those that are `taken`. `others`: all statements of the project."""
    names = [*_headings_of(group), *_words_of(group, others)]
    free = [name for name in names if name and name.casefold() not in taken]
    return free[0] if free else f"{names[-1]} {len(taken) + 1}"


def _headings_of(group: Sequence[Item]) -> list[str]:
    """The headings that stand above at least half of the group, those of most statements first, the lowest of those."""
    held = Counter(heading for item in group for heading in set(item.headings))
    depth = {heading: place for item in group for place, heading in enumerate(item.headings)}
    most = [heading for heading, count in held.items() if 2 * count >= len(group)]
    most.sort(key=lambda heading: (-held[heading], -depth[heading], heading))
    telling = [name for heading in most if (name := as_subject(heading))]
    return telling + [name for heading in most if " " in (name := _bare(heading)) and len(name) <= HEADING_CHARS]


def as_subject(heading: str) -> str:
    """A heading without numbering, marks and remarks; empty where it names no subject."""
    bare = _bare(heading)
    words = [word.casefold() for word in WORD.findall(bare)]
    tells = any(word not in SAYS_NOTHING and len(word) > 1 and not word.isdigit() for word in words)
    return bare if tells and len(bare) <= HEADING_CHARS else ""


def _bare(heading: str) -> str:
    bare = " ".join(MARKS.sub(" ", NUMBERING.sub("", heading.strip())).split())
    bare = BEHIND.sub("", bare).strip(" .,:-/&") or bare
    return bare[:1].upper() + bare[1:]


def subject_words(text: str) -> set[str]:
    """The stems of a text that may name what it is about; those of any rule do not."""
    return set(content_words(text)) - RULE_WORDS


def _words_of(group: Sequence[Item], others: Sequence[Item]) -> list[str]:
    """The rare words that most of the group shares, as it writes them; then the same with a third one."""
    written: dict[str, Counter[str]] = {}
    held: Counter[str] = Counter()
    for item in group:
        stems = set()
        for word in WORD.findall(item.text):
            for found in subject_words(word):
                written.setdefault(found, Counter())[word.casefold()] += 1
                stems.add(found)
        held.update(one for one in stems if not one.isdigit() and len(one) > 2)
    everywhere = Counter(one for item in others for one in subject_words(item.text))
    ranked = sorted(held, key=lambda one: (-held[one] * held[one] / max(1, everywhere[one]), one))
    spelt = [_as_written(written[one]) for one in ranked]
    counts = range(NAME_WORDS, min(len(spelt), NAME_WORDS + 3) + 1) if len(spelt) > NAME_WORDS else [len(spelt)]
    return [" ".join(spelt[:count]).capitalize() or "Notes" for count in counts]


def _as_written(spellings: Counter[str]) -> str:
    """The commonest spelling of a stem; of several the first by the alphabet."""
    return min(spellings, key=lambda word: (-spellings[word], word))
