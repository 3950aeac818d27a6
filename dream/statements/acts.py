"""What a clause of a person's text does: whether it asserts something, and with what standing.

Only an assertion or a standing instruction can become part of a topic. A question, a supposition, somebody else's
words, a game of roles or a task for this hour is none, however much it looks like one in a bag of words. English,
with the question marks of other languages; other languages count by the explicit markers in `markers.py`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from crawler.spoken import Spoken, spoken_in
from crawler.transcripts.turns import Turn
from dream.statements.regions import prose_regions
from memory_server.language.cues import folded
from memory_server.language.sentences import Span, clause_spans, sentence_spans


class Act(StrEnum):
    """What a clause does."""

    ASSERTS = "asserts"
    ASKS = "asks"
    SUPPOSES = "supposes"  # if, suppose, what if, could, might, would
    QUOTES = "quotes"  # what somebody or something else said
    PLAYS = "plays a role"
    DENIES = "denies"  # a plain statement with a negation: it gives no value of its own
    HEDGES = "hedges"  # I think, maybe, probably
    REQUESTS = "requests"  # a task for this hour
    MUSES = "muses"  # I am thinking of, I am not sure, I wonder
    CHOOSES = "chooses"  # an answer taken from options; its clause holds the question too
    INTENDS = "intends"  # I am trying to, I want to: an aim, whose nouns may still tell how things are


SILENT = frozenset({Act.ASKS, Act.SUPPOSES, Act.QUOTES, Act.PLAYS, Act.MUSES})  # acts that state nothing


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a turn. The ranges count characters of the turn's text."""

    text: str
    first: int
    end: int
    sentence: Span
    act: Act
    own: int  # where its own words begin; what stands before belongs to the clause that it explains


STANDS_APART = (
    r"(?=\s*[,.:;!]|\s+[-–—]|\s+(?:i|i'm|we|you|he|she|it|it's|its|they|this|that|that's|thats|these|those|there|the"
    r"|our|my|your|an?|please|just|actually|always|never|use|put|keep|don'?t|let'?s|and|but|not)\b)"
)  # behind `no` or `right`: it answers what was said before, and is no part of the sentence that begins here
NOTE_LABEL = (
    r"(?:(?:an?|quick|small|short|side|little|one|another|last) )*(?:note(?: to self| for (?:later|the record"
    r"|future reference))?|reminder|psa|nb|n\.b\.)\s*:"
)  # announces that what follows is meant for later
LEAD = (
    rf"(?:(?:{NOTE_LABEL}|(?:and|but|so|also|ok(?:ay)?|yes|yeah|yep|no|nope|well|hmm+|um+|uh+|oh|ah+|hey|hi|hello"
    rf"|claude|right|sure|great|thanks|please|pls|plz|then|now|actually|btw|fyi|ps|p\.s|edit|plus)\b)[\s,.!:-]*)*"
)
LEADING = re.compile(LEAD, re.IGNORECASE)
QUESTION_START = folded(
    rf"{LEAD}(?:can|could|would|will|should|shall|may|might|do|does|did|is|are|was|were|am|has|have|had|isn't|aren't"
    rf"|don't|doesn't|didn't|can't|couldn't|won't|wouldn't|shouldn't|what|what's|whats|when|where|which (?:one|of)|who"
    rf"|whose|why|how|any (?:idea|chance|thoughts|way|reason)|anyone|is there|are there)\s+(?:i|we|you|it|they|he|she"
    rf"|there|this|that|these|those|the|a|an|my|our|your|not|is|are|was|do|does|did|can|should|would|to|about|if|many"
    rf"|much|often|long|come|exactly|kind|sort|[a-z]+)\b"
)
INVERTED = folded(
    rf"{LEAD}(?:can|could|would|will|should|shall|may|do|does|did|is|are|was|were|am|has|have|had|isn't|aren't|don't"
    rf"|doesn't|didn't|can't|couldn't|won't|wouldn't|shouldn't)\s+(?:i|we|you|it|they|he|she|there|this|that|these"
    rf"|those|the|my|our|your|anyone|someone)\b"
)  # asks even without a question mark; `have` and `do` without a subject behind them are imperatives
WH_START = folded(
    rf"{LEAD}(?:what|whats|where|when|who|whose|why|how|which (?:one|of [a-z]+))(?:'s|'re)?\s+(?:is|are|was|were|do"
    rf"|does|did|can|could|should|would|will|about|if|to|many|much|often|long|come|has|have|kind)\b"
)
INDIRECT_QUESTION = folded(
    r"\b(?:(?:i|we)(?:'m|'re| am| are| was| were)? (?:just |also |still |really |kinda |a bit )*(?:wonder(?:ing)?"
    r"|curious|(?:not|un)sure|confused|asking)|(?:not|n't) (?:sure|certain|clear|know|remember|recall) (?:if|whether"
    r"|what|how|why|where|when|which|that)|no idea|do (?:you|we) know|tell me (?:if|whether|what|how|why)"
    r"|let me know (?:if|whether)|any idea|check (?:if|whether)|see (?:if|whether)|find out (?:if|whether)"
    r"|verify (?:if|whether|that))\b"
)
ASKING = folded(f"{QUESTION_START.pattern}|{WH_START.pattern}")
RELATIVE = folded(r"(?:which|who)\b")  # such a clause says nothing without the one before
OWN_ASIDE = folded(
    r"(?:and |but |especially |also )*(?:i|i'm|i've|my|which|who|considering|given|since|now that|as i|because i)\b"
)  # how a clause begins that tells something in the middle of a question
SUPPOSITION = folded(
    rf"^{LEAD}(?:if|suppose|supposing|assume|assuming|imagine|say we|let's say|lets say|what if|in case|unless"
    rf"|were (?:we|i|it)|should (?:we|it) ever|hypothetically|in theory|theoretically|for the sake of argument"
    rf"|had we)\b|\b(?:hypothetical(?:ly)?|in theory|theoretically|what if|imagine (?:that|if|we|the)"
    rf"|for the sake of argument|(?:if|as though|as if) (?:we|i|you|it|they|there|the|this|that|our|my|someone"
    rf"|somebody|anyone) \w+|would (?:be|have|need|make|mean|use|run|go|become|listen|live|point|take|cost|require"
    rf"|probably|then|also)|could (?:be|have|use|move|switch|also|maybe|just|run|go|try|probably|become|always|set)"
    rf"|might (?:be|have|use|move|switch|need|want|want to|make|as well|run|go|become|end)|may (?:be|have|need|want"
    rf"|become)\b)"
)
SUPPOSITION_OPENS = folded(
    rf"^{LEAD}(?:suppose|supposing|imagine|hypothetically|let's say|lets say|assume|for the sake of argument|what if"
    rf"|thought experiment)\b"
)  # colours the rest of its paragraph
ROLE_OPENS = folded(
    r"\b(?:pretend(?:ing)?|role-?play(?:ing)?|act as|acting as|you are (?:now )?an? |you're (?:now )?an? |your role is"
    r"|play the (?:role|part)|imagine you(?:'re| are)|in character|in this (?:story|game|scenario|exercise|fiction)"
    r"|as a character|the (?:narrator|hero|villain|protagonist)|once upon a time|let's play|simulate a"
    r"|dialogue between|write (?:a|me a) (?:story|poem|dialogue|scene))\b"
)
SAYS = (
    r"(?:says?|said|states|stated|claims?|claimed|(?:wrote|writes|reads)(?!\s+(?:to|from|into|its|all|every|only)\b)"
    r"|suggests?|suggested|mentions|mentioned|recommends|recommended|insists?|insisted|thinks|argues?|argued|tells"
    r"|told|asserts|proposes|proposed|believes|complains)"
)
REPORTED = re.compile(
    rf"\b(?:[Tt]he|[Tt]his|[Tt]hat|[Aa]n?|[Tt]heir|[Hh]is|[Hh]er|[Ii]ts|[Mm]y|[Oo]ur"
    rf"|[Oo]ne)\s+(?:[\w'’/.-]+\s+){{1,5}}{SAYS}\b|\b(?:they|he|she|it|some(?:one|body|thing)?|people|customers?|users"
    rf"|[A-Z][\w'’-]+|[a-z]+(?:bot|rabbit))\s+(?:(?:also|just|once|still|always|\w+ly|in|on|at|the"
    rf"|a)\s+){{0,4}}(?:\w+\s+)?{SAYS}\b"
    r"|\b[Tt]he\s+(?:[\w'’/.-]+\s+){1,9}(?:says|states|mentions|claims|suggests|recommends|notes)\s+that\b"
    r"|\b[Aa]ccording to\b|\b(?:to quote|quote(?=\s*[:\"“])|quoting|citing)(?!\w)|\b[Aa]s per the\b|\b[Ii] (?:read"
    r"|heard|got this|found this|was told)\b|\b[Ii]'ve (?:read|heard)\b|\brumou?r|\b[Aa]llegedly\b|\b[Ss]upposedly\b"
    r"|\b[Aa]pparently\b|\bused to say\b"
)
OWN_REPORT = folded(r"\b(?:i|we|I've|we've)(?:'ve| have| had| already| just)* (?:said|told|wrote|mentioned|decided)\b")
IN_QUOTES = re.compile(r"[\"“„«]([^\"”“»\n]{12,})[\"”»]|(?<!\w)'([^'\n]{20,})'(?!\w)|`[^`\n]* [^`\n]{12,}`")
HEDGE = folded(
    r"\b(?:i (?:think|thought|guess|believe|suppose|assume|assumed|suspect|feel|imagine|hope|doubt)|maybe|perhaps"
    r"|probably|possibly|presumably|likely|seems?|looks like|sounds like|sort of|kind of|not sure|unsure|might|afaik"
    r"|iirc|if i remember|i'm guessing|as far as i|could be|must have|should be fine)\b"
)
MUSING = folded(
    r"\b(?:(?:i|we)(?:'m|'re| am| are| was| were)? (?:also |just |still |kinda |really |even )*(?:thinking (?:of"
    r"|about)|considering|tempted|playing with|debating|toying|wondering)|one (?:idea|option|alternative) (?:is|would)"
    r"|some day|eventually)\b"
)
INTENT = folded(
    r"\b(?:i|we)(?:'m|'re|'d| am| are| was| were)?(?: (?:also|just|still|kinda|really|a bit|now|currently))* (?:trying"
    r"|looking|struggling|having trouble|hoping|planning|going|gonna|about|worried|want|wanted|need|like|hope) (?:to"
    r"|with|for|on|that|about|my|the)?\b"
)
NEGATED = folded(
    r"\b(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|must|need)(?:n't|nt"
    r"| not)\b(?! only\b)|\bcannot\b|\bcan't\b|\bwon't\b|\bnot (?:true|the case|correct|right)\b|\bnever\b|\bnobody\b"
    r"|\bno one\b|\bnone of\b|\bneither\b|\bno longer\b|\bnowhere\b|\b(?:there(?:'s| is| are)|has|have|had|with"
    r"|got) no\b|\bain't\b|\bnot\b|\bwithout\b|\bfar from\b|\bno need\b"
)
AUXILIARIES = "is are was were do does did can will should must has have had would".split()
NOT_AUXILIARY = "".join(
    rf"(?<!\b{word})" for word in (*AUXILIARIES, "could", "am", "it", "may", "might", "or", "if", "why")
)
INSIDE = r"(?:[^,;.!?\n]|[.,](?=\w))"  # a character within a clause; the point of an address or a number is one
TO_THIS_NOT_TO = rf"\bto\s{INSIDE}{{1,60}},\s*(?:and\s+|but\s+)?not to\s+(?!(?:mention|be|do|say)\b)\S"
CORRECTED = folded(
    rf"\b[\w/:.@-]+,?(?:\s+and|\s+but)?{NOT_AUXILIARY}\s+not\s+(?!only\b|sure\b|yet\b|just\b|to\b|true\b|the case\b"
    rf"|a problem\b)\S|\bnot\s+{INSIDE}{{1,50}}?,?\s+but\s+\S|\binstead of\b|\brather than\b|{TO_THIS_NOT_TO}"
    rf"|\w,\s+never\s+(?!mind\b)[\w'-]+\W*$"
)  # `X, not Y` and `not Y but X` state X
IMPERATIVE = folded(
    rf"^{LEAD}(?:(?:just|first|next|then|quickly|simply|maybe|now|do|also)\s+)*(?:add|address|analy[sz]e|apply|ask"
    rf"|branch|build|bump|change|check|clean|commit|compare|consider|continue|convert|create|debug|delete|deploy"
    rf"|describe|do|document|double|draft|edit|enable|execute|explain|explore|extend|extract|find|fix|fold|generate"
    rf"|get|give|go|grab|have|help|implement|improve|include|install|integrate|investigate|launch|list|log|look|make"
    rf"|mark|merge|modify|move|open|plan|post|pull|read|note|format|handle|insert|include|let|push|put|rebase|redo"
    rf"|refactor|remove|rename|reply|resolve|restart|resume|retry|revert|review|rewrite|run|save|search|send|set|show"
    rf"|spawn|spin|split|squash|start|stash|strengthen|summari[sz]e|switch|take|tell|test|try|undo|update|upgrade|use"
    rf"|validate|verify|wait|watch|wire|work|write)\b(?!'s\b|s\b)(?!(?:\s+(?!an?\b|the\b|this\b|that\b|it\b|all\b|my\b"
    r"|your\b)[\w-]+){0,2}\s+(?:should|must|shall|is|are|was|were|has|have|always|never|gets?|happens?|belongs?|lives?"
    r"|goes|runs?)\b)"
)


def clauses_of(turn: Turn) -> list[Clause]:
    """Every clause that the person says in a turn, in order."""
    return [clause for spoken in spoken_in(turn) for clause in _clauses_of_stretch(turn.text, spoken)]


def _clauses_of_stretch(text: str, spoken: Spoken) -> list[Clause]:
    first, end = spoken.first, spoken.end
    if spoken.is_chosen:
        return [Clause(text[first:end], first, end, (first, end), Act.CHOOSES, first)]
    return clauses_in(f"{' ' * (first - 1)}\n{text[first:end]}" if first else text[:end])


def clauses_in(text: str) -> list[Clause]:
    """Every clause of a person's own prose, in order, with what it does."""
    return [clause for first, end in prose_regions(text) for clause in _clauses_of_region(text, first, end)]


def _clauses_of_region(text: str, first: int, end: int) -> Iterator[Clause]:
    opened: Act | None = None
    until = 0  # the end of the paragraph that a supposition colours
    region = text[first:end]
    for start, stop in sentence_spans(region):
        sentence = region[start:stop]
        if opened is Act.SUPPOSES and start >= until:
            opened = None
        if ROLE_OPENS.search(sentence):
            opened, until = Act.PLAYS, end
        elif opened is None and SUPPOSITION_OPENS.match(sentence):
            opened, until = Act.SUPPOSES, _paragraph_end(region, start)
        for clause in _clauses(region, start, stop):
            act = opened if opened and first + start < first + until else clause.act
            where = (first + start, first + stop)
            yield Clause(clause.text, first + clause.first, first + clause.end, where, act, first + clause.own)


def _paragraph_end(text: str, position: int) -> int:
    found = re.compile(r"\n[ \t]*\n").search(text, position)
    return found.start() if found else len(text)


def _clauses(text: str, first: int, end: int) -> Iterator[Clause]:
    spans = clause_spans(text, first, end)
    asked = is_asked(text[first:end])
    starts = [bool(ASKING.match(text, start, stop)) for start, stop in spans]
    reported, before = False, Act.ASSERTS
    for place, (start, stop) in enumerate(spans):
        clause = text[start:stop]
        reported = reported or _is_reported(clause)
        act = Act.QUOTES if reported else act_of(clause, sentence=text[first:end])
        if asked and _belongs_to_question(clause, place, starts):
            act = Act.ASKS
        explains = RELATIVE.match(clause) and place > 0 and act is not Act.ASKS and before is not Act.ASKS
        head = spans[place - 1][0] if explains else start
        yield Clause(text[head:stop], head, stop, (first, end), act, start)
        before = act


def _belongs_to_question(clause: str, place: int, asking: list[bool]) -> bool:
    """Whether a clause of a question asks, rather than telling something ahead of it or beside it.

    Where no clause is inverted (`it is cached, right?`) all of it asks.
    """
    if asking[place] or not any(asking):
        return True
    return place > asking.index(True) and not OWN_ASIDE.match(clause)


def act_of(clause: str, sentence: str = "") -> Act:
    """What one clause does by its own words. The order is that of how surely each shows."""
    is_inverted = INVERTED.match(clause) or WH_START.match(clause)
    if is_asked(clause) or is_inverted or INDIRECT_QUESTION.search(clause):
        return Act.ASKS
    if ROLE_OPENS.search(clause):
        return Act.PLAYS
    if _is_reported(clause):
        return Act.QUOTES
    if SUPPOSITION.search(clause) or SUPPOSITION_OPENS.match(sentence):
        return Act.SUPPOSES
    if MUSING.search(clause):
        return Act.MUSES
    if INTENT.match(LEADING.sub("", clause, count=1)):
        return Act.INTENDS
    if HEDGE.search(clause):
        return Act.HEDGES
    if IMPERATIVE.match(clause):
        return Act.REQUESTS
    if NEGATED.search(clause) and not CORRECTED.search(clause):
        return Act.DENIES
    return Act.ASSERTS


def is_asked(text: str) -> bool:
    """Whether a text ends in a question mark."""
    return text.rstrip("\"')]* ").endswith(("?", "？"))


def _is_reported(clause: str) -> bool:
    """Whether a clause gives somebody else's words: by a verb of saying, or as a sentence in quotation marks."""
    if OWN_REPORT.search(clause):
        return False
    quoted = sum(len(match[0]) for match in IN_QUOTES.finditer(clause))
    return bool(REPORTED.search(clause)) or quoted * 2 > len(clause)
