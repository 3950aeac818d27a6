"""Options that the assistant listed, and the one that a person picks by its letter or number."""

import re
from collections.abc import Iterator

from memory_server.language.cues import folded
from memory_server.language.sentences import Span, sentence_spans

OPTION = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?:\*\*)?(?:[Oo]ption[ \t]+)?\(?(?P<sign>[A-Ha-h]|\d{1,2})[.):][ \t]*(?P<text>\S.*)$",
    re.MULTILINE,
)
PICK = folded(
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|let'?s|lets|just|do|go|use|with|for|options?|number|the|i|i'd|would|prefer|like|want|choose"
    r"|pick|take)\b[\s,]*)*\(?([a-h]|\d{1,2})\)?(?:\s*(?:and|&|,|\+)\s*\(?([a-h]|\d{1,2})\)?)?\W*(?:please|then)?\W*$"
)


def picked_in(reply: str, answer: str) -> Iterator[Span]:
    """The first sentence of each option of a reply that an answer picks, and does nothing else."""
    pick = PICK.match(answer)
    listed = {option["sign"].casefold(): option for option in OPTION.finditer(reply)}
    for sign in filter(None, pick.groups()) if pick else ():
        if option := listed.get(sign.casefold()):
            first, end = next(iter(sentence_spans(option["text"])), (0, len(option["text"])))
            yield option.start("text") + first, option.start("text") + end
