"""What is masked, and what stands where a secret would and is none.

A place to mask is a `Span`. Placeholders, code, paths, versions and dates are harmless.
"""

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


PLACEHOLDER = pattern(
    r"(?i)^(?:x{3,}|\*+|\.{2,}|-+|_+|\d{1,3}|true|false|null|none|nil|undefined|string|number|boolean|bytes?|str|int|any"
    r"|object|optional\w*|required|secret|password|passwd|pass|pwd?|token|key|api[_-]?key|change[_-]?me|example|sample"
    r"|test(?:ing)?|demo|dummy|fake|redacted|removed|hidden|masked|placeholder|todo|here|value|yourself|process|self"
    r"|this|os|env|config|settings|request|args|options)$"
    r"|^(?:\d{2,5}/|\$|%[A-Z{(]|#\{|\{\{|<|@|&|your|my[-_]|some[-_]|insert|enter|replace|example|placeholder|env[.:(\[]"
    r"|process\.|os\.|import\.|self\.|this\.|config\.|settings\.|options\.|args\.|req\.|request\.|ctx\.|c\.|e\.|new "
    r"|await|get[A-Z(]|fetch|read|load|make|create|generate|parse|crypto\.|secrets?\.|vault:|urn:|op://|ref\+|arn:|https?:|file:"
    r"|\./|~/|\[redacted:)"
    r"|example|placeholder|redacted|xxxx|\.\.\.|…|\*\*\*\*|<[a-z_-]+>|your[-_]|change[-_]?me"
)
CODE = pattern(
    r"[()\[\]{}]|<[A-Za-z]|=>|->|::|\.(?:get|set|env|data|value|length|map|trim|encode|toString)\b|^[A-Z][A-Z_]{3,}\d{0,2}$|^[A-Z]+(?:_[A-Z0-9]+)+$"
    r"|^[A-Za-z_]+(?:\.[A-Za-z_]+)+$|\.(?:py|js|ts|go|md|json|ya?ml|toml|txt|sh|env|pem|key|crt|html|rs|java)\b"
)
# Versions, addresses, dates and plain numbers, paths, names of types, and names that say `token` once more.
HARMLESS = pattern(
    r"(?i)^(?:v?\d{1,4}(?:\.\d{1,5})+(?:[-+.]\w[\w.-]{0,20})?|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|\d{4}-\d\d-\d\d\S*|\d{1,11}|\d+[a-z%]{1,3}|[0-9,:_-]*[.,:_-][0-9.,:_-]*[a-z%]{0,3}"
    r"|[a-z_.-]*(?:passw|secret|token|key|auth)[a-z_.-]*)$"
    r"|^/(?:[\w.@-]+/)+[\w.@-]*$|^/[a-z_.@-]+$"
)
BASE64 = pattern(r"^[\w+/-]{16,}={1,2}$")
TYPE_NAME = pattern(r"^[A-Z]?[a-z]+(?:\d{1,2}|[A-Z][a-z]{2,})+$")  # harmless without quotes
JOINED = pattern(r"[a-z]{2}[-_/.:][A-Za-z]{2}|^[A-Za-z]+\d{1,3}$")


def is_placeholder(value: str) -> bool:
    return PLACEHOLDER.search(value) is not None


def is_code(value: str) -> bool:
    return CODE.search(value) is not None


def is_harmless(value: str, *, is_quoted: bool) -> bool:
    """Whether a value beside a secret's name is code, a placeholder or an identifier."""
    if is_placeholder(value) or HARMLESS.search(value) or (is_code(value) and not BASE64.search(value)):
        return True
    return not is_quoted and TYPE_NAME.search(value) is not None
