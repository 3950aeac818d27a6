"""What makes a clause worth proposing: marks of a correction, a preference, a decision, or a stated fact.

Each rule looks at a clause whose act is known. The confidence is a judgement of how often such a clause is still true
and wanted next month; it decides alone only where no topic speaks of the matter yet. What only holds at the moment of
speaking (a failing test, a pushed branch, this file) is weak whatever its form.
"""

import re
from dataclasses import dataclass

from dream.records import Kind
from dream.speech.acts import INSIDE, LEAD, LEADING, NOT_AUXILIARY, STANDING, STANDS_APART, Act, Clause
from dream.speech.markers import foreign_marker
from dream.speech.values import ValueKind, values_in
from dream.speech.words import content_words


@dataclass(frozen=True, slots=True)
class Signal:
    """Why a clause was taken."""

    kind: Kind
    confidence: float
    why: str


SURE, LIKELY, FAIR, WEAK = 0.9, 0.75, 0.6, 0.35
UNIVERSAL = r"(?:all|every|each|any|everywhere|throughout|across|both)"
MANNER = (
    "use|using|write|prefer|keep|name|format|put|call|spell|stick|avoid|sign|prefix|document|tag|target|base|wrap|store"
)
STANDING_MARK = re.compile(
    r"\b(?:from now on|from here on|going forward|moving forward|in (?:the )?future|as a (?:general )?rule|by default"
    r"|at all times|henceforth|every (?:single )?time|whenever|each time|in general|for all (?:future|new)"
    r"|for every (?:new )?\w+|without exception|no exceptions?|as of today|until further notice)\b",
    re.IGNORECASE,
)
REMEMBER = re.compile(
    rf"^{LEAD}(?:please |also |just )*(?:(?:can|could) you )?(?:(?:remember|keep in mind|bear in mind|note|make a note"
    r"|take note|don'?t forget|never forget|memori[sz]e)(?: that\b|:|,)|(?:for the record|for future reference"
    r"|for your (?:information|memory)|just so you know|so you know|fyi|heads up|save to memory|important)[:,]?)\s*\S",
    re.IGNORECASE,
)
RULE = re.compile(
    rf"^{LEAD}(?:please |just )*(?:always|never)\s+(?!mind\b|been\b|seen\b|had\b|heard\b|thought\b|really\b)[a-z]+"
    r"|\b(?:we|you|i|they|one|it|[\w/-]+)\s+(?:should|must|shall|need to|needs to|have to|has to|are to|is to"
    r"|will)\s+(?:always|never|only|at all times)\b|\b(?:we|you)(?:'d| would| will)?\s+(?:always|never)\s+(?!been|seen"
    r"|had|heard|thought|said|tried|used|really|actually|did|got|went|managed)[a-z]+\b"
    rf"|\b(?:must|should|shall|may|can)(?: not|n't|nt)\b{INSIDE}{{0,80}}\b(?:ever|under any|again|any ?more|in any"
    rf" case)\b"
    r"|\b(?:is|are) (?:never|always) (?:to be|allowed|required|forbidden)\b|\b(?:is|are) (?:not allowed|forbidden"
    r"|mandatory|off[- ]limits|off the table|required for)\b|\bmust(?:n't| not| be(?! \w+ing\b)| use| go| start| end"
    r"| stay| live| match)\b"
    rf"|\b(?:we|you|everyone|everybody|one) (?:have|has|need|needs) to\b{INSIDE}{{3,80}}\b(?:before|after|when|each"
    rf"|every|whenever)\b|(?:^|:\s)\W*no(?!{STANDS_APART})\s+(?!(?:need|idea|problem|worries|longer|more)\b)[\w-]+"
    r"(?: [\w-]+){0,3} (?:in|on|without|for|before|after|outside|please)\b"
    rf"|^{LEAD}(?:{MANNER})\b{INSIDE}{{3,80}}\b(?:{UNIVERSAL} (?!the (?:above|issues?)\b)[\w-]+|everywhere|throughout)"
    rf"|^{LEAD}(?:before|after|when|whenever|if)\s+(?:you\s+)?\w+(?:ing)?\s+(?:an?|any|every|each|new"
    rf"|another)\b{INSIDE}+,\s*\w|^{LEAD}(?:before|after|for|on|in) (?:every|each|any|all)\b{INSIDE}+,?\s+(?:run|use"
    rf"|add|write|make|check|update|ask)\b"
    r"|^\W*(?!the\b|this\b|that\b|these\b|those\b|it\b|they\b|there\b)[\w-]+(?:\s[\w-]+){0,2}s\s+(?:should|must|need"
    r" to)\b",
    re.IGNORECASE,
)
LABELLED = re.compile(
    r"^\W*(?:[\w-]+ ){0,2}(?:rule|policy|convention|guideline|standard|reminder|decision|preference"
    r"|requirement)s?\s*:\s*\w",
    re.IGNORECASE,
)
STANDING_ORDER = re.compile(
    rf"^{LEAD}(?:please |just )*(?:(?:stick (?:to|with)|adhere to|default to|follow)\s+(?!this\b|that\b|it\b|up\b)"
    rf"|for {INSIDE}{{3,40}}, (?:use|follow|prefer|stick|run|call|write|put|keep)\b"
    r"|(?:don'?t|do not) (?!forget|worry|bother|need|want|have|know|think|see|like|mind|get|understand|care|remember"
    r"|just|do\b"
    r"|be\b|start|wait|touch|change|fix)\w+\s+(?!this\b|that\b|it\b|anything\b|yet\b|now\b|to\b|the\b|these\b|them\b"
    r"|any of\b))"
    r"|\b(?:nobody|no ?one|none of (?:us|you)) (?:may|must|can|should)\b"
    rf"|\bi(?:'d like| would like| want| expect) (?:you|claude) to {INSIDE}{{3,80}}\b(?:before|whenever|always|every"
    rf"|each|never)\b",
    re.IGNORECASE,
)  # an order that names no single thing at hand
LIMITS_RULE = re.compile(
    r"(?:\bnot|n't|\bneedn't|\bno need to|don't (?:have|need|want) (?:you )?to)\s+(?:\w+\s+){0,2}(?:always|every)\b"
    r"|\bnot necessarily\b|\bnever (?:said|meant|claimed|asked|decided|mind|agreed|told)\b|\bdon'?t (?:have|need) to\b"
    r"|\b(?:no|not a|not our|not the|isn't a|never a) (?:such )?(?:rule|policy|law|requirement|decision)\b"
    r"|\bnot true\b|\bnot the case\b|\bnobody (?:said|says)\b",
    re.IGNORECASE,
)
MAKE_SURE = re.compile(rf"^{LEAD}(?:please |also |but )*(?:make sure|ensure|see to it)\b", re.IGNORECASE)
STOP_DOING = re.compile(
    rf"^{LEAD}(?:please |just )*(?:(?:don'?t|do not) just \w+|stop\s+\w+ing\b|quit\s+\w+ing\b|avoid\s+\w+ing\b"
    rf"|(?:don'?t|do not)\s+(?:ever\b|\w+{INSIDE}{{0,80}}\b(?:ever|again|any ?more|without (?:asking|my|a|an))\b))",
    re.IGNORECASE,
)
PREFERS = re.compile(
    r"\b(?:i|we)(?:'d| would)? (?:strongly |really |generally |usually |always |much |personally |actually )*"
    r"(?:prefer\b(?! not to have to)|favou?r\b"
    r"|(?:like|love) to (?:use|have|keep) (?:one|a single|the same|only)\b)|\b(?:i|we)'d rather\b"
    r"|\b(?:my|our) preference\b"
    rf"|\bi (?:like|love) (?:my|our|to have|it when|when)\b{INSIDE}*\b(?:to|in|with|better|best|over|short|small)\b"
    r"|\bi (?:hate|dislike|can't stand|don'?t like)\b|\bpreferred (?:way|style|tool|format)\b"
    rf"|\bi(?:'d like| would like| (?:only |always |never )?want) {UNIVERSAL}\b|\b(?:is|are) (?:my|our) (?:preferred"
    rf"|favou?rite|default"
    rf"|standard)\b",
    re.IGNORECASE,
)
REJECTS = re.compile(
    rf"^{LEAD}(?:(?:that|this|it)(?:'s| is| was)|you(?:'re| are)|thats|(?:the|that|this) (?:first|second|last|other) "
    r"(?:part|one|point|line|sentence) is|`?[\w-]+`?(?: `?[\w-]+`?)? is)\s+(?:again |still |completely |just )*"
    r"(?:wrong|incorrect|mistaken|not (?:quite )?(?:right|correct|true|accurate|what i (?:said|meant|asked)))\b"
    rf"|^\W*wrong\b{STANDS_APART}",
    re.IGNORECASE,
)  # says that something was wrong, and not yet what is right
NAMED_WRONG = re.compile(
    rf"^{LEAD}(?!the\b|that\b|this\b|it\b|you\b|these\b|those\b)[\w`'./-]+(?: [\w`'./-]+){{0,2}} (?:is|are) (?:wrong"
    rf"|incorrect|not (?:right|correct|true))[,;:] {INSIDE}{{10,}}",
    re.IGNORECASE,
)
OPENS_CORRECTION = re.compile(
    r"^\W*(?:no|nope|actually|correction|not quite|sorry|again)\b[\s,.:!-]+\S|\bi meant\b", re.IGNORECASE
)
NOT_THIS = re.compile(
    r"(?:,\s*(?:and\s+|but\s+)?|\s(?:and|but)\s+)not\s+(?!only\b|sure\b|yet\b|just\b|to\b|true\b|the case\b|a"
    r" problem\b|you\b|really\b)"
    rf"[\w`'\"~./@-]+|{NOT_AUXILIARY}(?<!'s)(?<!'re)(?<!'m)(?<!ly)\s+not\s+[\w`'\"~./:@-]+\W*$"
    rf"|\bnot\s+{INSIDE}{{2,50}}?,?\s+but\s+\S",
    re.IGNORECASE,
)
IN_PLACE_OF = re.compile(
    rf"\b(?:use|using|prefer|go with|going with|keep|put|write|call|name|stick with|switch to|run|store"
    rf"|target)\b{INSIDE}*"
    r"\b(?:instead of|rather than|over)\b",
    re.IGNORECASE,
)
DECIDES = re.compile(
    r"\b(?:we|i|the team)(?:'ve| have| had)?(?: all| now| finally| just| already| both| also)*\s+(?:decided|agreed"
    r"|(?:switched|moved|migrated|changed) (?:from|to|over)|chose|chosen|settled|opted|picked|standardi[sz]ed"
    r"|committed to|concluded|resolved)\b"
    r"|\bwe (?:had|have|reached|came to) an? (?:[\w-]+ )?(?:agreement|consensus|decision|discussion) that\b"
    r"|\b(?:the|our|my|final) (?:decision|choice|verdict) (?:is|was|:)|\bdecided:"
    r"|\bmy thinking (?:here )?is (?:that )?we\b"
    r"|\b(?:we|i)(?:'re| are|'m| am) (?:going (?:to (?:use|go with|stick|keep|drop|move|adopt|switch)|with)|sticking"
    r"|moving to|switching to|dropping|standardi[sz]ing|keeping|adopting|retiring|freezing)\b"
    r"|\b(?:we|i)(?:'ll| will) (?:use|go with|stick (?:with|to)|keep|adopt|move to|switch to|drop"
    r"|stay (?:on|with)|standardi[sz]e|call (?:it|them|this)|name|store|host|deploy|ship|only|support)\b",
    re.IGNORECASE,
)
LEANS_TO = re.compile(
    r"\b(?:i|we) (?:do )?(?:think|feel|believe|guess) (?:that |like )?(?:it(?:'s| is)|its|we should|that's|it makes)\b"
    r"|\b(?:it(?:'s| is)|its) better (?:to|not to|if)\b|\bwe should\b|\bmakes (?:more )?sense to\b|\b(?:is"
    r"|are) better (?:for|than|to)\b",
    re.IGNORECASE,
)  # how a person decides politely; with a reason it is meant
WE_SHOULD = re.compile(
    rf"\bwe should (?:also |not )*(?!all\b|both\b)[a-z]+ {INSIDE}{{3,80}}?\b(?:every|each|any|everywhere|throughout)\b"
    r"(?! of (?:the|these|those)\b)",
    re.IGNORECASE,
)  # a duty towards a whole kind of things holds longer than the hour
BETTER = re.compile(
    r"\b(?:is|are) (?:much |way |far |a lot )?(?:simpler|better|nicer|cleaner|easier|safer|faster|more (?:\w+))(?!"
    r" (?:now|already))\b",
    re.IGNORECASE,
)
LETS = re.compile(
    rf"^{LEAD}(?:let'?s|lets)\s+(?:not\s+|just\s+|also\s+|please\s+)*(?:use|go with|stick (?:with|to)|settle on|keep"
    rf"|adopt"
    rf"|switch to"
    r"|move to|call|name|standardi[sz]e|store|avoid|stay|drop|skip|leave|make)\b",
    re.IGNORECASE,
)
REASONED = re.compile(
    r"\b(?:because|since|so that|due to|given (?:that|the|our)|in order to|as (?:it|that|they|we|the)\b)", re.IGNORECASE
)
NAMED_SUBJECT = re.compile(
    rf"^(?:(?:in|on|at|for|since|as of|under|with)\s{INSIDE}{{2,40}},\s+)?"
    r"(?!i\b|i'm\b|i've\b|we\b|you\b|he\b|she\b|it\b|it's\b|its (?:not|a|the)\b|they\b|this\b|that\b|these\b|those\b"
    r"|there\b|here\b|what\b|one\b|some\b|something\b|nothing\b|as\b|to\b|given\b|while\b|since\b|because\b|although\b"
    r"|when\b|if\b|then\b|any\b|once\b|before\b|after\b|so\b|and\b|but\b|that\b|let'?s\b|is\b|are\b|was\b|can\b"
    r"|could\b|should\b|would\b|will\b|does\b|do\b|has\b|have\b|or\b|https?:|\w+ing\b|@)(?:the |our |my |your |all "
    r"|every |each |both |an? )?[\w`@./'’:-]+(?:\s+[\w`@./'’()-]+){0,6}?\s+(?:(?:also|only|always|usually|now"
    r"|currently|still|no longer)\s+)*(?:(?P<be>is|are)|(?P<verb>lives?|runs?|listens?|sits?|resides?|points?|uses?"
    r"|requires?|needs?|supports?|expects?|has|have|owns?|maintains?|handles?|belongs?|stores?|keeps?|deploys?"
    r"|releases?|happens?|starts?|ends?|expires?|closes?|goes|go|means?|contains?|returns?|takes?|costs?|pays?|reads?"
    r"|writes?|accepts?|sends?|gets?|works? with|depends?|approves?|reviews?|replaces?|serves?|covers?|holds?|reports?"
    r"|merges?|triggers?|wants?|likes?|prefers?|receives?|matches|comes?|moved|has moved|should|must|can|cannot|can't"
    r"|cant|will|won't|doesn't|==|[a-z]{3,}s(?= (?:at|on|in|to|from|every|through|under|by|with|over|via"
    r"|for)\b)))(?!\w)",
    re.IGNORECASE,
)
OWN_STATE = re.compile(
    rf"^{LEAD}(?:my (?!plan|question|idea|thought|guess|understanding|goal|first|next|point|mistake|bad)[\w-]+(?:"
    rf" [\w-]+){{0,2}} is\b"
    r"|i (?:live in|am based in|speak|work (?:from|at|for|in)|'m based in)\b|we(?:'re| are) (?:using|running|on|billed"
    r"|hosted|charged|paid|limited|based|required|allowed|deploying|targeting|hosting)\b)",
    re.IGNORECASE,
)  # how things stand with the person or the team
FOUND_CAUSE = re.compile(
    r"\b(?:issue|problem|cause|culprit|reason|bug|error|failure)s?\s+(?:was|were|turned out to be|came from)\b"
    rf"|\b(?:solved|fixed|resolved|goes away|went away)\s+(?:by|when|with|after|once|through)\s{INSIDE}{{4,}}",
    re.IGNORECASE,
)  # what an error came from, or what ended it
WE_LEARNT = re.compile(
    r"\bwe(?:'ve| have)? (?:found|learnt|learned|realised|realized|discovered) (?:out )?that\b"
    r"|\b(?:i|we) (?:already |also )?know that\b|\b(?:in|from) (?:my|our) experience\b"
    r"|\bfrom what (?:i|we)(?:'ve| have)? (?:seen|observed|learnt|learned|experienced)\b",
    re.IGNORECASE,
)
WE_DO = re.compile(
    rf"^{LEAD}(?:(?:for|in|on|at|with) {INSIDE}{{2,40}}?\s|here )?we (?:(?:also|only|usually|always|generally"
    rf"|currently)\s+)*(?:use|deploy|keep|store|run|ship|release|merge"
    r"|rebase|host|write|name|tag|follow|support|target|have|build|test|track|log|work)\b",
    re.IGNORECASE,
)
PASSING = re.compile(
    r"\b(?:just|right now|at the moment|today|failing|fails?|failed|failures?|broken|breaks?|crash\w*|stuck|again"
    r"|working|loaded|(?:is|are|all|already|'s) done|errors?|bugs?|issues?|conflicts?|missing|empty|flaky|pushed"
    r"|merged|committed|showing|seems?|good|great|fine|ready|going|happening|weird|strange|problem|comments?"
    r"|this (?:pr|branch|session|commit|change|file|test|one|time|step|phase|task|plan)|the (?:pr|diff|above|first"
    r"|second|last|next|other|following|screenshot|change|changes|issue|problem|comment|question|plan|current|latest"
    r"|previous|new)|pr \d+|my (?:question|branch|pr|concern|point|guess)|(?:is|was) whether|the wrong|before we"
    r"|here"
    r"|still|yet|now)\b",
    re.IGNORECASE,
)
OF_THE_HOUR = re.compile(
    rf"{PASSING.pattern}|^{LEAD}(?:let'?s|any|before|once|after|i (?:noticed|saw|see)|@)|\bwe (?:need|have) to\b|\bwe"
    rf" can\b"
    r"|\bi(?:'m| am) \w+ing\b",
    re.IGNORECASE,
)  # a reason for what is done or seen now
REQUIRES = re.compile(
    r"\b(?:should|shouldn't|must|needs? to|has to)\s+(?!be (?:updated|addressed|fixed|moved|added|done|committed"
    r"|closed|merged|renamed|removed|pushed|changed|converted|handled|able)\b|have\b|also be\b|probably\b)(?:also\s+"
    r"|not\s+|automatically\s+)*[a-z]+",
    re.IGNORECASE,
)  # what a named thing is asked to do for good; the passive with a verb of editing is a task
SCOPE = re.compile(
    r"\b(?:only|all|every|each|always|never|in any case|by hand|weekly|nightly|daily|monthly|hourly|per \w+|at most"
    r"|at least|by default|protected|generated|deprecated|read-?only|private|public|mandatory|optional|contact|owner"
    r"|lead|maintainer|responsible|in charge|third-party)\b",
    re.IGNORECASE,
)
STRONG_VALUES = frozenset({ValueKind.ADDRESS, ValueKind.VERSION, ValueKind.PATH, ValueKind.DATE, ValueKind.TIME})
SILENT = frozenset({Act.ASKS, Act.SUPPOSES, Act.QUOTES, Act.PLAYS, Act.MUSES})
REASONABLE = frozenset({Act.ASSERTS, Act.DENIES, Act.HEDGES})
REASONED_WORDS = 6  # telling words that a statement with its reason has at least
MIN_WORDS = 2  # telling words; less says nothing by itself
MAX_CHARS = 380


def signal_of(clause: Clause, before: Clause | None = None) -> Signal | None:
    """What makes a clause worth taking; None where nothing does. `before` is the clause said ahead of it."""
    text = clause.text
    if clause.act in SILENT or len(text) > MAX_CHARS or len(content_words(text)) < MIN_WORDS:
        return None
    if LIMITS_RULE.search(text):
        return Signal(Kind.FACT, WEAK, "said in passing")
    if foreign := foreign_marker(text):
        return Signal(foreign, LIKELY, "an explicit marker")
    return _preference(clause) or _correction(clause, before) or _decision(clause) or _fact(clause)


def _preference(clause: Clause) -> Signal | None:
    text, is_hedged = clause.text, clause.act is Act.HEDGES
    if REMEMBER.match(text) and clause.act is not Act.INTENDS:
        return Signal(Kind.PREFERENCE if RULE.search(text) else Kind.FACT, SURE, "asked to be remembered")
    if PREFERS.search(text):
        return Signal(Kind.PREFERENCE, FAIR if is_hedged else LIKELY, "a stated preference")
    if not is_hedged and not PASSING.search(text) and (LABELLED.match(text) or STANDING_ORDER.search(text)):
        return Signal(Kind.PREFERENCE, LIKELY if LABELLED.match(text) else FAIR, "an order that names no single thing")
    if clause.act is Act.INTENDS:
        return None
    if RULE.search(text):
        return Signal(Kind.PREFERENCE, WEAK if is_hedged else SURE, "a rule: always, never, must")
    if STANDING_MARK.search(text) and not is_hedged:
        return Signal(Kind.PREFERENCE, LIKELY, "said for good: from now on, whenever")
    if MAKE_SURE.match(text) and REASONED.search(text) and not PASSING.search(text):
        return Signal(Kind.PREFERENCE, FAIR, "asked for, with its reason")
    return Signal(Kind.PREFERENCE, LIKELY, "asked to stop") if STOP_DOING.match(text) else None


def _correction(clause: Clause, before: Clause | None) -> Signal | None:
    """`A, not B`; `no, it is A`; or a plain statement right behind `that's wrong`."""
    text = clause.text
    if NAMED_WRONG.match(text):
        return Signal(Kind.CORRECTION, FAIR, "says what of a named thing is wrong, and why")
    if clause.act in (Act.INTENDS, Act.REQUESTS, Act.DENIES):
        return None
    confidence = WEAK if clause.act is Act.HEDGES or PASSING.search(text) else LIKELY
    rest = REJECTS.sub("", text)
    behind = before is not None and REJECTS.match(before.text) is not None
    states = NAMED_SUBJECT.match(LEADING.sub("", rest).lstrip(" ,:;-")) is not None
    if (NOT_THIS.search(text) and (values_in(text) or states)) or IN_PLACE_OF.search(text):
        return Signal(Kind.CORRECTION, confidence, "corrects: this, not that")
    if (behind or rest != text) and (states or values_in(rest)) and len(content_words(rest)) >= MIN_WORDS:
        return Signal(Kind.CORRECTION, confidence, "says what is right after saying what was wrong")
    strong = any(value.kind is not ValueKind.NAME for value in values_in(text))
    if OPENS_CORRECTION.search(text) and strong and confidence == LIKELY:
        return Signal(Kind.CORRECTION, LIKELY, "corrects: no, it is this")
    return None


def _decision(clause: Clause) -> Signal | None:
    text = clause.text
    if LEANS_TO.search(text) and REASONED.search(text) and not PASSING.search(text):
        return Signal(Kind.DECISION, FAIR, "a leaning with its reason")
    if WE_SHOULD.search(text) and not PASSING.search(WE_SHOULD.sub(" ", text)) and clause.act is not Act.INTENDS:
        return Signal(Kind.DECISION, FAIR, "what is to be done with every one of them")
    if clause.act in (Act.HEDGES, Act.INTENDS, Act.DENIES):
        return None
    rest = DECIDES.sub(" ", LEADING.sub("", text, count=1))  # `now` ahead of a decision announces it
    if DECIDES.search(text) and not (PASSING.search(rest) and not REASONED.search(text)):
        return Signal(Kind.DECISION, SURE if REASONED.search(text) else LIKELY, "a decision")
    if BETTER.search(text) and NAMED_SUBJECT.match(LEADING.sub("", text, count=1)):
        return Signal(Kind.DECISION, FAIR, "a judgement of what is better")
    if LETS.match(text):
        return Signal(Kind.DECISION, _of_lets(text), "a decision")
    return None


def _of_lets(text: str) -> float:
    """`Let's` proposes as often as it decides: with a reason, a rejected choice or an exact value it decides."""
    if REASONED.search(text) or NOT_THIS.search(text):
        return LIKELY
    exact = any(value.kind in STRONG_VALUES for value in values_in(text))
    return FAIR if exact and not PASSING.search(text) else WEAK


def _fact(clause: Clause) -> Signal | None:
    """A statement about a named thing; by what it holds it is likely, fair, or only said in passing."""
    text, values = clause.text, values_in(clause.text)
    bare = LEADING.sub("", REJECTS.sub("", text), count=1).lstrip(" ,:;-(")
    if clause.act is Act.REQUESTS or (clause.act is Act.INTENDS and not values):
        return None
    if WE_LEARNT.search(text) and clause.act in STANDING:
        return Signal(Kind.FACT, FAIR, "learnt by experience")
    if FOUND_CAUSE.search(text) and clause.act in STANDING and _names_something(text):
        return Signal(Kind.FACT, FAIR, "what an error came from, or what ended it")
    is_reasoned = REASONED.search(text) and len(content_words(text)) >= REASONED_WORDS
    if is_reasoned and clause.act in REASONABLE and not OF_THE_HOUR.search(text):
        return Signal(Kind.FACT, FAIR, "said with its reason")
    is_named = any(subject.match(bare) for subject in (NAMED_SUBJECT, WE_DO, OWN_STATE))
    if clause.act is Act.ASSERTS and not PASSING.search(text) and is_named:
        if any(value.kind in STRONG_VALUES or value.unit for value in values):
            return Signal(Kind.FACT, LIKELY, "a stated fact with its value")
        if values or any(mark.search(bare) for mark in (SCOPE, WE_DO, OWN_STATE, REQUIRES)):
            return Signal(Kind.FACT, FAIR, "a stated fact about a named thing")
    return Signal(Kind.FACT, WEAK, "said in passing") if values or clause.act is Act.DENIES or len(text) > 30 else None


def _names_something(text: str) -> bool:
    """Whether a text names a file, a version, an address or a setting in so many letters."""
    values = values_in(text)
    is_constant = any(value.kind is ValueKind.NAME and "_" in value.value for value in values)
    return is_constant or any(value.kind in STRONG_VALUES for value in values)
