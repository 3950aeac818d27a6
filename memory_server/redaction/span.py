"""What every part of redaction answers with."""

from typing import Any, NamedTuple

import re2


class Span(NamedTuple):
    """One place to mask. The parts count bytes of UTF-8, the door characters; of the text before redaction."""

    start: int
    end: int
    kind: str  # what it was taken for, such as `github-token`


def pattern(text: str, *, max_mem: int = 8 << 20) -> Any:  # RE2 has no types
    """A pattern of RE2, which takes time in proportion to the text whatever the pattern is; quiet where it is wrong."""
    options = re2.Options()
    options.max_mem = max_mem
    options.log_errors = False
    return re2.compile(text, options)
