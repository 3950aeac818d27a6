"""Words as the keyword index sees them, beyond what its tokenizer splits off by itself.

The tokenizer keeps `fooBar` and a run of Chinese characters as one word each. So that their parts are found too, they
are written once more beside the passage: identifiers split at their humps, and runs of Chinese, Japanese and Korean
characters as overlapping pairs.
"""

import re
from collections.abc import Iterator

CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\uac00-\ud7af\u3100-\u312f"
CJK_RUN = re.compile(f"[{CJK}]+")
HUMPED = re.compile(r"\b(?=\w*[a-z])(?=\w*[A-Z0-9])[A-Za-z][A-Za-z0-9]*\b")
HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def extra_words(text: str) -> str:
    """Parts of identifiers and pairs of CJK characters in a text, each once, joined by blanks."""
    return " ".join(dict.fromkeys([*identifier_parts(text), *cjk_pairs(text)]))


def identifier_parts(text: str) -> Iterator[str]:
    """`wledQuickControl` -> wled, Quick, Control; words without humps give nothing."""
    for match in HUMPED.finditer(text):
        parts = HUMP.findall(match[0])
        if len(parts) > 1:
            yield from (part for part in parts if len(part) > 1)


def cjk_pairs(text: str) -> Iterator[str]:
    """`東京都` -> 東京, 京都; a single character gives itself."""
    for match in CJK_RUN.finditer(text):
        run = match[0]
        yield from (run[start : start + 2] for start in range(max(1, len(run) - 1)))
