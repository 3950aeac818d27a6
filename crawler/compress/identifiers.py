"""The identifiers of a session, letter by letter: what is searched for as it is written.

Of what was spoken and of what failed alone: the output of a tool holds thousands of versions that nobody meant.
Commands stand where they failed, among the errors: a line of those run most often (`git status`) made sessions alike
and their search worse, see benchmarks/RESULTS.md.
"""

import re
from collections.abc import Iterator, Sequence

from crawler.compress.candidates import DigestCandidate, SectionName
from crawler.transcripts.turns import Role, Turn

IN_A_LINE = 4  # as many as a line can name entries
LINES_OF = {"Names": 3}  # one of the other kinds
MAX_CHARS = 90  # of one identifier: it stands whole or not at all
SPEAKERS = frozenset({Role.PERSON, Role.ASSISTANT})
KINDS = {
    "Names": re.compile(
        r"(?<![\w/.-])(?:--[a-z][a-z0-9-]{2,}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w/])"
        r"|(?<=`)[a-z]{2}[a-z0-9]*(?:[_.][a-z0-9]+)+(?=[`:= ])"
    ),
    "Addresses": re.compile(
        r"https?://[^\s<>\"'`)\]]+(?<![.,;:!?*])|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?\b"
        r"|\blocalhost:\d{2,5}\b"
    ),
    "Versions": re.compile(
        r"(?<![\w./-])v?\d+\.\d+\.\d+(?:-[A-Za-z][\w.]*)?(?![\w.-]*/)(?!\.?\d)\b|(?<=[Vv]ersion )\d+(?:\.\d+)+\b"
    ),
    "Error codes": re.compile(
        r"\bE(?:ACCES|ADDR|AGAIN|BADF|BUSY|CONN|EXIST|HOST|INVAL|IO|MFILE|NET|NOENT|NOMEM|NOSPC|NOTDIR|PERM|PIPE|TIMED|RR_)"
        r"[A-Z]*\b|\bTS\d{4,5}\b|\bERR_[A-Z_]+\b|\bCVE-\d{4}-\d+\b|\b(?:HTTP|status(?: code)?) [1-5]\d\d\b"
    ),
}


def list_identifiers(turns: Sequence[Turn]) -> Iterator[DigestCandidate]:
    """Lines of each kind with those named last, the last first, and the entries in which they were."""
    spoken = [turn for turn in turns if turn.role in SPEAKERS or (turn.role is Role.TOOL and turn.is_error)]
    for kind, pattern in KINDS.items():
        named = ((match[0], _find_entry(turn)) for turn in spoken for match in pattern.finditer(turn.text))
        yield from _lines(kind, named)


def _find_entry(turn: Turn) -> str:
    """The entry that the text of a turn stands in, or begins in: of a tool that is its result."""
    return turn.entries[-1] if turn.role is Role.TOOL else turn.entries[0]


def _lines(kind: str, found: Iterator[tuple[str, str]]) -> Iterator[DigestCandidate]:
    named: dict[str, str] = {}  # in the order of the last mention
    for name, entry in found:
        if len(name) <= MAX_CHARS:
            named.pop(name, None)
            named[name] = entry
    names = list(reversed(named))[: LINES_OF.get(kind, 1) * IN_A_LINE]
    for start in range(0, len(names), IN_A_LINE):
        group = tuple(names[start : start + IN_A_LINE])
        entries = tuple(dict.fromkeys(named[name] for name in group))
        yield DigestCandidate(SectionName.IDENTIFIERS, f"{kind}: {', '.join(group)}", entries, names=group)
