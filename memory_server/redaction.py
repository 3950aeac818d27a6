"""Masks secrets in text before anything is written.

Two kinds of rules: tokens that are recognised by their own shape (the prefixes that services give them, as the
gitleaks rule set publishes them), and values that are secret because of the name beside them. What merely looks random
stays: hashes, UUIDs, paths, versions and addresses are what people search for.

Redacting twice gives the same text as redacting once. The caller decides what to redact; this module knows text and
nested JSON only. detect-secrets is asked for a second opinion where a caller wants one (`second_opinion`), since its
plugins are too slow for every transcript.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memory_server.errors import UsageError
from memory_server.redaction_rules import (
    ASSIGNED,
    CODE_LIKE,
    CONTEXT_RULES,
    COOKIE,
    COOKIE_VALUE,
    FLAGGED,
    HARMLESS,
    LONGEST_NAME,
    MASK,
    NAME_CHARACTERS,
    NAME_STEMS,
    NAMED_BY_CONTEXT,
    NAMES_ITSELF,
    PATH,
    PLACEHOLDER,
    PLAIN_NAMES,
    SEED_PHRASE,
    STRONG_NAME,
    TOKEN_RULES,
    TYPE_NAME,
    WEAK_SIGNS,
    WORDS_JOINED,
    Rule,
)

SHORTEST_TOKEN = 18  # characters; shorter words are not searched for tokens


@dataclass(frozen=True, slots=True)
class Span:
    """One masked place. `start` and `end` count characters of the text before redaction."""

    start: int
    end: int
    kind: str  # what it was taken for, such as `github-token`


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and where they stood."""

    text: str
    spans: tuple[Span, ...]


class Redactor:
    """Masks every secret it knows, and what the person denies by name.

    `deny` holds words to mask wherever they occur, whatever their case; one that starts with `re:` is a pattern.
    Raises UsageError for a pattern that cannot be compiled.
    """

    def __init__(self, deny: Sequence[str] = ()):
        self._deny = tuple(_denied(word) for word in deny if word.strip())

    def redact(self, text: str) -> Redacted:
        """The text with each secret replaced by `[redacted:KIND]`."""
        spans = _without_overlap(self._find(_without_mask_names(text)), text)
        if not spans:
            return Redacted(text, ())
        pieces = []
        position = 0
        for span in spans:
            pieces += [text[position : span.start], f"[redacted:{span.kind}]"]
            position = span.end
        return Redacted("".join([*pieces, text[position:]]), tuple(spans))

    def redact_json(self, value: Any) -> Any:
        """The same JSON value with every string redacted: keys too, and a value also by the name it stands under."""
        if isinstance(value, str):
            return self.redact(value).text
        if isinstance(value, dict):
            return {self.redact(str(key)).text: self._under_name(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.redact_json(item) for item in value]
        return value

    def _under_name(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._under_name(name, item) for item in value]
        if not isinstance(value, str):
            return self.redact_json(value)
        probe = ASSIGNED.fullmatch(f'"{name}": "secretprobe1"'[:-1], 1)
        if probe and is_secret_value(probe["name"], value, is_quoted=True) and not MASK.search(value):
            return "[redacted:secret]"
        return self.redact(value).text

    def _find(self, text: str) -> Iterator[Span]:
        for pattern in self._deny:
            yield from (Span(*match.span(), "denied") for match in pattern.finditer(text) if match[0])
        long_words = "\n".join([word for word in text.split() if len(word) >= SHORTEST_TOKEN])
        for rules, searched in ((TOKEN_RULES, long_words), (CONTEXT_RULES, text)):
            for rule in rules:
                for keyword in rule.keywords:
                    if keyword in searched:
                        yield from _matches(rule, keyword, text)
        yield from _assigned(text)


def redact(text: str) -> str:
    """The text without its secrets, where no person's own deny-list applies."""
    return Redactor().redact(text).text


def second_opinion(text: str) -> tuple[str, ...]:
    """What detect-secrets calls secret in a text, without its entropy plugins, which take every hash for one."""
    from detect_secrets.core.scan import scan_line  # noqa: PLC0415  # imports 40 plugins; most callers never ask
    from detect_secrets.settings import transient_settings  # noqa: PLC0415  # the same

    plugins = [{"name": name} for name in SECOND_OPINION_PLUGINS]
    with transient_settings({"plugins_used": plugins}):
        found = [secret.secret_value for line in text.splitlines() for secret in scan_line(line)]
    return tuple(secret for secret in found if secret)


SECOND_OPINION_PLUGINS = (
    "ArtifactoryDetector", "AWSKeyDetector", "AzureStorageKeyDetector", "BasicAuthDetector", "CloudantDetector",
    "DiscordBotTokenDetector", "GitHubTokenDetector", "GitLabTokenDetector", "IbmCloudIamDetector", "JwtTokenDetector",
    "MailchimpDetector", "NpmDetector", "OpenAIDetector", "PrivateKeyDetector", "PypiTokenDetector", "SendGridDetector",
    "SlackDetector", "SquareOAuthDetector", "StripeDetector", "TelegramBotTokenDetector", "TwilioKeyDetector",
)  # fmt: skip


def is_secret_value(name: str, value: str, *, is_quoted: bool) -> bool:
    """Whether a value that is assigned to a name is a secret rather than code, a placeholder or an identifier."""
    value = value.rstrip(".,;:!?")
    if len(value) < 4 or any(shape.search(value) for shape in (PLACEHOLDER, HARMLESS, PATH, NAMES_ITSELF)):
        return False
    if PLAIN_NAMES.search(name) or (not is_quoted and TYPE_NAME.match(value)):
        return False
    if STRONG_NAME.search(name):
        return (is_quoted and not CODE_LIKE.search(value)) or looks_random(value, bits=2.2) or mixes_kinds(value)
    if CODE_LIKE.search(value) and not value.endswith("="):
        return False
    return len(value) >= 8 and looks_random(value, bits=2.8) and mixes_kinds(value)


def mixes_kinds(value: str) -> bool:
    """Whether letters and digits stand together, as they seldom do in words."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def looks_random(value: str, *, bits: float) -> bool:
    """Whether the characters carry at least `bits` of entropy each, a little more than the words of code do."""
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return entropy >= bits and mixes_kinds(value)


def _denied(word: str) -> re.Pattern[str]:
    if not word.startswith("re:"):
        return re.compile(re.escape(word.strip()), re.IGNORECASE)
    try:
        return re.compile(word.removeprefix("re:"))
    except re.error as error:
        raise UsageError(
            f"the deny pattern `{word}` cannot be compiled: {error}", remedy="Mend it in the settings"
        ) from error


def _matches(rule: Rule, keyword: str, text: str) -> Iterator[Span]:
    at = text.find(keyword)
    while at >= 0:
        match = rule.pattern.match(text, at) if not rule.reach else rule.pattern.search(text, max(0, at - rule.reach))
        end = at + len(keyword)
        if match and match.start() <= at:
            group = 1 if match.re.groups else 0
            if match[group] and not _is_placeholder(rule, match[group]):
                yield Span(*match.span(group), rule.kind)
            end = max(end, match.end())
        at = text.find(keyword, end)


def _is_placeholder(rule: Rule, value: str) -> bool:
    """Whether a documented shape stands where a real token would: `sk-xxxx`, `user:password@`, `Bearer $TOKEN`."""
    if rule.kind in NAMED_BY_CONTEXT:
        return bool(PLACEHOLDER.search(value) or CODE_LIKE.search(value)) or value in ("pass", "pw", "pwd", "PASS")
    return (len(set(value)) < 8 and rule.kind != "private-key") or "xxxx" in value.lower()


def _assigned(text: str) -> Iterator[Span]:
    lower = text.replace("İ", "I").lower()  # the one letter whose lower case is longer
    position = 0
    for start in sorted(_places(NAME_STEMS, lower)):
        if start < position:
            continue
        before = text[max(0, start - LONGEST_NAME) : start]
        match = ASSIGNED.match(text, start - len(before) + len(before.rstrip(NAME_CHARACTERS)))
        if match:
            position = match.end("name")
            yield from _assigned_value(match)
    for start in _places((" -", "\n-"), text):
        match = FLAGGED.match(text, start + 1)
        if match and not PLACEHOLDER.search(match["value"]) and not CODE_LIKE.search(match["value"]):
            yield Span(*match.span("value"), "secret")
    if "phrase" in lower or "mnemonic" in lower:
        yield from (Span(*match.span(1), "seed-phrase") for match in SEED_PHRASE.finditer(text))
    if "cookie:" in lower:
        for header in COOKIE.finditer(text):
            yield from (Span(*m.span("value"), "cookie") for m in COOKIE_VALUE.finditer(text, *header.span(1)))


def _places(words: Iterable[str], text: str) -> Iterator[int]:
    """Where any of the words begins."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + len(word))


def _assigned_value(match: re.Match[str]) -> Iterator[Span]:
    is_quoted = bool(match["open"])
    value = match["value"] if is_quoted else match["value"].rstrip(".,;:!?)")
    if match["sign"] == ">":
        value = value.split("<")[0]
    is_weak = match["sign"] in WEAK_SIGNS or (match["sign"] == "is" and not STRONG_NAME.search(match["name"]))
    if is_weak and not is_unlike_words(value):
        return
    if is_secret_value(match["name"], value, is_quoted=is_quoted):
        yield Span(match.start("value"), match.start("value") + len(value), "secret")


def is_unlike_words(value: str) -> bool:
    """Whether a value has what words and names of code lack: both cases and digits, and no separators between words."""
    kinds = (any(map(str.isupper, value)), any(map(str.islower, value)), any(map(str.isdigit, value)))
    if len(value) < 8 or not all(kinds):
        return False
    return len(value) >= 32 or not WORDS_JOINED.search(value)


def _without_mask_names(text: str) -> str:
    """The text with what its masks say blotted out, every character in its place.

    A mask names a kind of secret, and what stands behind such a name would be taken for its value.
    """
    return MASK.sub(lambda mask: f"[{'.' * (len(mask[0]) - 2)}]", text) if "[redacted:" in text else text


def _without_overlap(spans: Iterable[Span], text: str) -> list[Span]:
    """The spans in order, the longest of those that overlap; what is masked already stays as it is."""
    masks = [match.span() for match in MASK.finditer(text)] if "[redacted:" in text else []
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if any(start < span.end and span.start < end for start, end in masks):
            continue
        if chosen and span.start < chosen[-1].end:
            if span.end > chosen[-1].end:
                chosen[-1] = Span(chosen[-1].start, span.end, chosen[-1].kind)
            continue
        chosen.append(span)
    return chosen
