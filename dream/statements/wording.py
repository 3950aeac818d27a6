"""How a quote reads as a statement of a topic: without what belonged to the conversation, with absolute dates."""

import datetime as dt
import re

from dream.statements.acts import NOTE_LABEL, STANDS_APART
from dream.statements.dates import absolute
from dream.statements.marks import REJECTS

OPENER = re.compile(
    rf"^(?:(?:{NOTE_LABEL}|ok(?:ay)?|yes|yeah|yep|nope|hmm+|um+|oh|ah+|hey|hi|claude|thanks|thank you|please|pls|plz"
    r"|and|but|also|actually"
    r"|btw|by the way|now that|especially since|considering|fyi|ps|remember(?: that)?|note(?: that)?"
    r"|keep in mind(?: that)?|for the record|just so you know|don't forget(?: that)?|that's (?:wrong"
    rf"|incorrect|not (?:right|correct))|so(?! (?:far|long|much|many|that|called)\b)"
    rf"|(?:no|well|right|sure|great|wrong|incorrect){STANDS_APART})"
    r"(?![\w-])[\s,.:;!-]*)+",
    re.IGNORECASE,
)  # `no`, `right` and their like only where they answer: `no secrets in the repo` is no opener with a statement behind


CLOSER = re.compile(
    r"[,;]\s*(?:please\s+)?(?:remember (?:that|this|it)|keep (?:that|this|it) in mind|ok(?:ay)?|thanks|thank you|please"
    r"|fyi|btw)\W*$",
    re.IGNORECASE,
)  # speaks to the assistant behind what was said
SIGNS = re.compile(r"^(?:[ ,;:>*]+|[-@#_]+(?=\s))+")  # of a list or quotation; `--force` and `@scope/name` keep theirs
IDENTIFIER = re.compile(r"\S*[\w`][/._:@#=$~`(\d]\w|\S*[/`_\d](?=\s)|[-@#_~/.]|[a-z]+[A-Z]")  # whose case is its own


def statement_of(quote: str, said: dt.datetime | None) -> str:
    """The quote as a sentence that stands by itself. Every telling word of it is the quote's own."""
    text = " ".join(absolute(quote, said).split())
    bare = SIGNS.sub("", REJECTS.sub("", OPENER.sub("", CLOSER.sub("", text)))).rstrip(" ,;:-")
    if bare.startswith("(") and bare.rstrip(".").endswith(")"):
        bare = bare[1:].rstrip(".").removesuffix(")")
    text = bare if len(bare) >= 3 else text
    if not IDENTIFIER.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "。")) else f"{text}."
