"""Words as the keyword index sees them, beyond what its tokenizer splits off by itself.

The tokenizer keeps `fooBar` and a run of Chinese characters as one word each. So that their parts are found too, they
are written once more beside the passage: identifiers split at their humps, and runs of Chinese, Japanese and Korean
characters as overlapping pairs.
"""

import re
from collections.abc import Iterator

CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\uac00-\ud7af\u3100-\u312f"
CJK_RUN = re.compile(f"[{CJK}]+")
NAME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]*")  # up to an underscore, where the tokenizer splits by itself
HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before being below between
    both but by can could d did didn do does doesn doing don down during each few for from further get got had has have
    having he her here hers herself him himself his how i if in into is isn it its itself just let ll m me more most my
    myself no nor not now of off on once only or other our ours ourselves out over own re s same she should so some such
    t than that the their theirs them themselves then there these they this those through to too under until up us ve
    very was wasn we were what when where which while who whom whose why will with won would you your yours yourself
    yourselves
    """.split()
)


def extra_words(text: str) -> str:
    """Parts of identifiers and pairs of CJK characters in a text, each once, joined by blanks."""
    return " ".join(dict.fromkeys([*identifier_parts(text), *cjk_pairs(text)]))


def identifier_parts(text: str) -> Iterator[str]:
    """`wledQuickControl` -> wled, Quick, Control; words without humps give nothing."""
    for match in NAME.finditer(text):
        parts = HUMP.findall(match[0])
        if len(parts) > 1:
            yield from (part for part in parts if len(part) > 1)


def cjk_pairs(text: str) -> Iterator[str]:
    """`東京都` -> 東京, 京都; a single character gives itself."""
    for match in CJK_RUN.finditer(text):
        run = match[0]
        yield from (run[start : start + 2] for start in range(max(1, len(run) - 1)))
