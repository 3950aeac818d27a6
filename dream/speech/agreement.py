"""Whether the person agrees explicitly to what the assistant just said.

Silence is no agreement, nor is a `yes` with a condition or a correction behind it.
"""

import re

YES = re.compile(
    r"^\W*(?:(?:ah|oh|ok(?:ay)?|hm+|haha|great|cool|perfect|nice|thanks|thank you|right)[\s,.!-]+)*(?:yes|yeah|yep|yup"
    r"|yea|correct"
    r"|exactly|agreed?|i agree|that(?:'s| is) (?:right|correct|it|what i (?:meant|want(?:ed)?)|exactly (?:it|right"
    r"|what .{3,30}))|right"
    r"|confirmed|sounds (?:good|great|right)|makes sense|(?:good|great) (?:plan|idea|call)|(?:yes|yeah|ok)?,?"
    r" ?(?:let'?s|please)"
    r" (?:do|go with) (?:that|it|this)|go (?:ahead|for it|with that)|absolutely|definitely|precisely|spot on|ja|genau"
    r"|stimmt"
    r"|oui|exact(?:ement)?|sí|si|correcto|exacto|sim|да|верно|точно|是的|对|没错|はい|そうです)(?!\w)",
    re.IGNORECASE,
)
RESERVE = re.compile(
    r"\b(?:but|except|however|although|though|unless|if|only|instead|actually|not|no|don't|isn't|wait|hmm|maybe|aber"
    r"|mais|pero"
    r"|before|first|also|and|then)\b|\?",
    re.IGNORECASE,
)
MAX_CHARS = 160  # an agreement that says more says something of its own


def is_agreement(text: str) -> bool:
    """Whether a whole turn of the person is an explicit yes, without a reserve."""
    start = YES.match(text)
    if start is None or len(text) > MAX_CHARS:
        return False
    return not RESERVE.search(text[start.end() :])
