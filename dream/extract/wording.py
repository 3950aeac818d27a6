"""How a quote reads as a statement of a topic: without what belonged to the conversation, with absolute dates."""

import datetime as dt
import re

from dream.extract.signals import REJECTS
from dream.speech.dates import absolute

OPENER = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|yep|no|nope|well|hmm+|um+|oh|ah+|hey|hi|claude|right|sure|great|thanks|thank you"
    r"|please|and|but|so|also|actually|btw|by the way|now that|especially since|considering|fyi|ps|remember(?: that)?"
    r"|note(?: that)?|keep in mind(?: that)?|for the record|just so you know|don't forget(?: that)?|that's (?:wrong"
    r"|incorrect|not (?:right|correct))|wrong|incorrect)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)


def statement_of(quote: str, said: dt.datetime | None) -> str:
    """The quote as a sentence that stands by itself. Every telling word of it is the quote's own."""
    text = " ".join(absolute(quote, said).split())
    bare = REJECTS.sub("", OPENER.sub("", text)).lstrip(" ,;:->@#*_").rstrip(" ,;:-")
    if bare.startswith("(") and bare.rstrip(".").endswith(")"):
        bare = bare[1:].rstrip(".").removesuffix(")")
    text = bare if len(bare) >= 3 else text
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "。")) else f"{text}."
