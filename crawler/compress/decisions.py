"""What a short answer decided: `b` and `2 and 3` say it only together with the reply before them."""

import re
from collections.abc import Sequence

from memory_server.escaping import clip
from memory_server.language.cues import ignore_case
from memory_server.language.sentences import FENCE, without_markup
from memory_server.language.words import content_words

OPTION = re.compile(r"^[\s>*-]*(?:\*\*)?(?:Option\s+)?\(?([A-Za-z]|\d{1,2})[).:](?:\*\*)?\s+(.+)$", re.MULTILINE)
OPTION_CHARS = 80
FIRST = ("a", "1")  # labels with which a list begins
LABEL = r"(?:options? |numbers? |#)?([a-z]|\d{1,2})"
LABELS = ignore_case(LABEL + r"(?![\w'])")
CHOICE = ignore_case(
    r"\W*(?:(?:ok(?:ay)?|yes|yeah|hm+|both|just|can you|i(?:'d| would)?|let'?s|like|prefer|want|say|think|do|go with"
    rf"|go for|take|try|use|implement|allow)[\s,]+)*({LABEL}(?:\s*(?:,|and|&|\+|or)\s*{LABEL})*)"
    r"(?=\s*(?:\Z|[.,;:)!]|\b(?:but|then|please|seems?|sounds?|looks?|is|does|would|feels?)\b))"
)
SETTLES = ignore_case(r"\b(?:let'?s|go with|go for|i (?:like|prefer|favou?r)|use|stick with|instead)\b")
SHORT = 200  # characters; a longer answer says by itself what it decides


def decision(request: str, replies: Sequence[str]) -> str:
    """The answer with the option that it took, or among which; empty where it takes none of those offered last."""
    options = next((found for reply in reversed(replies) if len(found := parse_options(reply)) > 1), {})
    if not options or len(request) > SHORT:
        return ""
    answer = without_markup(request)
    if chosen := CHOICE.match(request):
        taken = [options[label] for label in map(str.lower, LABELS.findall(chosen[1])) if label in options]
        return f"{'; '.join(taken)} ({answer})" if taken else ""
    if "?" in request or not SETTLES.search(request):
        return ""
    words = set(content_words(request))
    named = [one for one in options.values() if words & set(content_words(one))]
    return f"{answer} (of: {'; '.join(options.values())})" if 0 < len(named) < len(options) else ""


def parse_options(reply: str) -> dict[str, str]:
    """The options of the last list of a reply that asks, by their letter or number."""
    options: dict[str, str] = {}
    if "?" not in reply:
        return options
    for label, text in OPTION.findall(FENCE.sub("", reply)):
        if label.lower() in FIRST:
            options = {}
        options[label.lower()] = clip(without_markup(text), OPTION_CHARS)
    return options
