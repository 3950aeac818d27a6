"""Whether the person agrees explicitly to what the assistant just said.

Silence is no agreement, nor is a `yes` with a condition or a correction behind it.
"""

import re

YES = re.compile(
    r"^\W*(?:(?:ah|oh|ok(?:ay)?|hm+|haha|great|cool|perfect|nice|thanks|thank you|right)[\s,.!-]+)*(?:yes|yeah|yep|yup"
    r"|yea|correct|exactly|agreed?|i agree|that(?:'s| is) (?:right|correct|it|what i (?:meant|want(?:ed)?)"
    r"|exactly (?:it|right|what .{3,30}))|right|confirmed|sounds (?:good|great|right)|makes sense|(?:good"
    r"|great) (?:plan|idea|call)|(?:yes|yeah|ok)?,? ?(?:let'?s|please) (?:do|go with) (?:that|it|this)|go (?:ahead"
    r"|for it|with that)|absolutely|definitely|precisely|spot on|ja|genau|stimmt|oui|exact(?:ement)?|sí|si|correcto"
    r"|exacto|sim|да|верно|точно|是的|对|没错|はい|そうです)(?!\w)",
    re.IGNORECASE,
)
RESERVE = re.compile(
    r"\b(?:but|except|however|although|though|unless|if|only|instead|actually|not|no|don't|isn't|wait|hmm|maybe|aber"
    r"|mais|pero|before|first|also|and|then)\b|\?",
    re.IGNORECASE,
)
MAX_CHARS = 160  # an agreement that says more says something of its own


def is_agreement(text: str) -> bool:
    """Whether a whole turn of the person is an explicit yes, without a reserve."""
    start = YES.match(text)
    if start is None or len(text) > MAX_CHARS:
        return False
    return not RESERVE.search(text[start.end() :])
