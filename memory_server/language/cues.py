"""Cues: short forms of words that show what a text does, whatever it is about.

An explicit yes, a negation, and what reads as if it were said to an assistant rather than about the work.
"""

import re
from enum import Enum, auto


def ignore_case(pattern: str) -> re.Pattern[str]:
    """A pattern that is the same in capitals and in small letters."""
    return re.compile(pattern, re.IGNORECASE)


YES = ignore_case(
    r"^\W*(?:(?:ah|oh|ok(?:ay)?|hm+|haha|great|cool|perfect|nice|thanks|thank you|right)[\s,.!-]+)*(?:yes|yeah|yep|yup"
    r"|yea|correct|exactly|agreed?|i agree|that(?:'s| is) (?:right|correct|it|what i (?:meant|want(?:ed)?)"
    r"|exactly (?:it|right|what .{3,30}))|right|confirmed|sounds (?:good|great|right)|makes sense|(?:good"
    r"|great) (?:plan|idea|call)|(?:yes|yeah|ok)?,? ?(?:let'?s|please) (?:do|go with) (?:that|it|this)|go (?:ahead"
    r"|for it|with that)|absolutely|definitely|precisely|spot on|ja|genau|stimmt|oui|exact(?:ement)?|sí|si|correcto"
    r"|exacto|sim|да|верно|точно|是的|对|没错|はい|そうです)(?!\w)"
)
RESERVE = ignore_case(
    r"\b(?:but|except|however|although|though|unless|if|only|instead|actually|not|no|don't|isn't|wait|hmm|maybe|aber"
    r"|mais|pero|before|first|also|and|then)\b|\?"
)
MAX_YES_CHARS = 160  # an agreement that says more says something of its own

NEGATION = ignore_case(
    r"\b(?:not|never|no|nobody|none|neither|nor|without|cannot)\b|n[’']t\b|\b(?:cant|dont|wont|isnt|arent|doesnt)\b"
)

NO_CLAUSE_END = r"[^.,;:!?\n]"
RULED_OUT = (  # what denies `without asking` itself; bounded, as it is looked for at each denial of a long text
    r"\b(?:never|cannot|(?:do|does|did|is|are|be|must|should|may|can|will|would)(?: not|n['’]t))\b"
    rf"(?:(?!\b(?:so|and|but|or|then|also|just|only)\b){NO_CLAUSE_END}){{0,120}}\bwithout\b"
)
UNTOLD = (  # but `never without asking` is a rule like others
    rf"(?:^|[.,;:!?\n])(?:(?!{RULED_OUT}){NO_CLAUSE_END})*\bwithout (?:telling|asking|informing|confirmation from)"
    r" (?:the )?(?:user|person|human|anyone)\b"
)
INJECTION = ignore_case(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|any|your|system"
    r"|safety)\b[^.\n]{0,30}\b(?:instructions?|prompts?|rules?|guidelines?|messages?|context|restrictions?)\b"
    r"|\b(?:system|developer|assistant|user)\s*(?:prompt|message)?\s*:\s|</?(?:system|assistant|user|instructions?"
    r"|tool|function|human)\b[^>]*>|\[/?INST\]|<\|[^|>]*\|>|\byou are now\b|\bnew instructions?\b|\b(?:do not|don't"
    r"|never) (?:tell|inform|mention|reveal|show|ask)\b[^.\n]{0,30}\b(?:user|person|human|anyone|them)\b"
    rf"|{UNTOLD}"
    r"|\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n]*\|\s*(?:sudo\s+)?(?:ba|z|da|fi)?sh\b"
    r"|\b(?:exfiltrat|send|upload|post|leak|email|forward)\w*\b[^.\n]{0,60}(?:\.env\b|\bsecrets?|credentials?"
    r"|passwords?|tokens?|api keys?|private keys?|env(?:ironment)? (?:file|variables)|\.env|ssh keys?)\b"
    r"|\brm\s+-rf?\s+[/~]|\bbase64\s+-d\b|\b(?:jailbreak|dan mode|developer mode|god mode)\b|\bapprove (?:all"
    r"|every|this|any)\b[^.\n]{0,30}\b(?:proposals?|hunks?|tool calls?|permissions?)\b"
    r"|--dangerously-skip-permissions|\bthis (?:note|memory|message) is (?:from"
    r"|by) (?:the )?(?:system|admin|anthropic|openai)\b"
)  # no candidate that holds such words becomes a proposal
ORDERS_ASSISTANT = ignore_case(
    rf"{INJECTION.pattern}|\b(?:ignore|disregard|forget) (?:all |any |the |your )*(?:previous|prior|above|earlier"
    rf"|other) \w+|\byou (?:are|must|should|will) (?:now|always|never)\b|\bsystem prompt\b|\bas an ai\b"
    r"|</?(?:system|instructions?|system-reminder)\b|\bdo not (?:tell|mention|reveal|ask)\b.{0,40}\b(?:user|person"
    r"|human)\b"
)  # people say this of their work too (`you must always run the tests`), so a reviewer is warned and no more


NO = ignore_case(
    r"^\W*(?:(?:hm+|ok(?:ay)?|oh|ah|well|sorry|but|thanks|thank you)[\s,.!-]+)*(?:no|nope|nah|not (?:now|yet|really"
    r"|that|like that|sure)|(?:please )?(?:don[’']?t|do not)|let[’']?s not|rather not"
    r"|i(?:[’']d| would) (?:rather|prefer)"
    r"|i (?:don[’']?t|do not) (?:want|like|think|need|agree)|stop|i disagree|nein|non)\b"
)


def is_refusal(text: str) -> bool:
    """Whether a turn of the person begins with an explicit no."""
    return NO.match(text) is not None


def is_agreement(text: str) -> bool:
    """Whether a whole turn of the person is an explicit yes. Silence is none, nor is a yes with a condition behind."""
    start = YES.match(text)
    if start is None or len(text) > MAX_YES_CHARS:
        return False
    return not RESERVE.search(text[start.end() :])


class WantedState(Enum):
    """Which of several states of one thing is asked for."""

    NEWEST = auto()
    OLDEST = auto()


NOW = ignore_case(r"\b(?:now|nowadays|currently|current|still|latest|these days|at present|in the end|by now)\b")
AT_FIRST = ignore_case(
    r"\b(?:originally|initially|at first|in the beginning|(?:i|we|you|they|it|was|were|did) first)\b"
)
GREETING = ignore_case(
    r"(?:\W|you:|\b(?:warm[- ]?up|hi|hello|hey|good (?:morning|day|afternoon|evening)|thanks?(?: you)?|ok(?:ay)?|ready"
    r"|ping|pong|test(?:ing)?|(?:how|what) (?:can|may) i (?:help|do for|assist)(?: you)?(?: with)?(?: today)?"
    r"|i(?:['’]m| am) ready(?: to help)?)\b)+"
)
MAX_GREETING_CHARS = 120


ASKING = ignore_case(
    r"^\W*(?:(?:please|so|and|but|hey|ok(?:ay)?),? )*(?:(?:do|can|could|would|will) (?:you|we|i)|what|why|how|where"
    r"|which|who|when|tell me|find out|look up|remind me)\b"
)
LOOKING = ignore_case(
    r"^\W*(?:(?:now|ok(?:ay)?|sure|yes|good),? )*(?:(?:let me|i['’]?ll|i will|i['’]m going to|i need to|let['’]s)"
    r" (?:\w+ )?(?:look|check|search|find|see|read|explore|examine|investigate|dig|grep|trace|understand)"
    r"|(?:looking|searching|checking) (?:at|for|into|through|whether|if))\b"
)
KNOWS_NOT = ignore_case(
    r"\b(?:i|we) (?:could|can|did|do|was|am)(?: ?not|n['’]t) (?:know|find|found|see|tell|recall|remember|sure|able)\b"
    r"|\bfound (?:nothing|no)\b|\bno (?:notes?|records?|mention|information|trace|entry|hint|documentation)\b"
    r"|\bnothing\b.{0,60}\b(?:says?|tells?|explains?|mentions?|about)\b|\bnot (?:documented|mentioned|recorded)\b"
)


def asks(text: str) -> bool:
    """Whether a text is a question, with or without a mark."""
    return "?" in text or ASKING.match(text) is not None


def answers_nothing(sentence: str) -> bool:
    """Whether a sentence of a reply asks back, or says that somebody looks for an answer, or knows none."""
    asks_back = sentence.rstrip(" \n*_`)").endswith("?")
    return asks_back or LOOKING.match(sentence) is not None or KNOWS_NOT.search(sentence) is not None


def find_wanted_state(question: str) -> WantedState | None:
    """Which state of a thing a question asks for; None where it does not say."""
    if AT_FIRST.search(question):
        return WantedState.OLDEST
    return WantedState.NEWEST if NOW.search(question) else None


def says_nothing(text: str) -> bool:
    """Whether a text is nothing but a greeting, or what a client sends to warm a session up."""
    return len(text) <= MAX_GREETING_CHARS and GREETING.fullmatch(text) is not None
