"""Cuts a clause that says two things into the two, where each is a sentence of its own as it stands.

`The relay is in Berlin and the backup runs in Oslo` says two things, and a topic takes them one by one. `The relay is
in Berlin and the backup in Oslo` cannot be cut: the words of its second half alone say nothing. What is supposed,
asked, reported or denied is left whole, since its opening holds for both halves.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from dream.statements.acts import IMPERATIVE, INSIDE, LEAD, LEADING, SILENT, Act, Clause, act_of
from memory_server.language.cues import folded

JOIN = folded(
    r"\s[-–—]{1,2}\s+|,?\s+(?:and|but|while)\s+(?:also\s+|then\s+|that\s+)?|,\s+(?!(?:and|but|while|it|they|this|that"
    r"|these|those|which|who|he|she)\b|never\s+\S+$)"
)
LEANING = folded(
    rf"^{LEAD}(?:when\w*|where\w*|if|in|on|at|for|with|by|from|to|as|of|under|over|during|after|before|once|since"
    rf"|because|although|though|even|while|until|till|unless|given|considering|like|except|besides|despite|each time"
    rf"|every time|such|including|e\.g\.|i\.e\.)(?!\w)"
)  # how a clause begins behind whose comma the sentence only starts
DASH = re.compile(r"\s[-–—]{1,2}\s+")
RULE_OPENS = re.compile(rf"^{LEAD}(?:please |just )*(?:always|never|don'?t|do not|use|prefer|keep|avoid)\s+\w")
PERSON_OPENS = folded(
    r"^(?:(?:i|we|you|they|he|she|it|this|that|there)(?:'\w+)?\s+(?:\w+ly\s+)?[a-z]+|one (?:can|could|may|must"
    r"|should)\b)"
)
SINGULAR = folded(
    r"^(?:(?:the|our|my|your|all|every|each|no)\b|[\w`@./'’:-]+(?:\s(?!are\b|were\b|have\b)[\w`@./'’:-]+){0,2}?\s(?:is"
    r"|has|\w+s)\b)"
)  # a bare name as the second of two subjects has a verb in the plural: `ruff and mypy are mandatory`
SUBJECT = (
    rf"^(?:(?:in|on|at|for|since|as of|under|with)\s{INSIDE}{{2,40}},\s+)?(?!i\b|i'm\b|i've\b|we\b|you\b|he\b|she\b"
    rf"|it\b|it's\b|its (?:not|a|the)\b|they\b|this\b|that\b|these\b|those\b|there\b|here\b|what\b|one\b|some\b"
    rf"|something\b|nothing\b|as\b|to\b|given\b|while\b|since\b|because\b|although\b|when\b|if\b|then\b|any\b|once\b"
    rf"|before\b|after\b|so\b|and\b|but\b|that\b|let'?s\b|is\b|are\b|was\b|can\b|could\b|should\b|would\b|will\b"
    rf"|does\b|do\b|has\b|have\b|or\b|https?:|@|whenever\b|where\b|wherever\b|\w+ing\b(?!\s+(?:is|are|has|got|runs"
    rf"|lives|goes|uses|needs|happens|belongs|starts|ends|costs|takes|works|means|requires|must|should|can|will)\b)"
    rf"|until\b|till\b|unless\b|whereas\b|(?:each|every) time\b)(?:the |our |my |your |all |every |each |both |an? )?"
    r"[\w`@./'’:-]+(?:\s+[\w`@./'’()-]+){0,6}?\s+(?:(?:also|only|always|usually|now|currently|still|no longer)\s+)*"
)  # of a sentence about a named thing, up to its verb
NAMED_SUBJECT = folded(
    rf"{SUBJECT}(?:is|are|lives?|runs?|listens?|sits?|resides?|points?|uses?|requires?|needs?|supports?|expects?|has"
    rf"|have|owns?|maintains?|handles?|belongs?|stores?|keeps?|deploys?|releases?|happens?|starts?|ends?|expires?"
    rf"|closes?|goes|go|means?|contains?|returns?|takes?|costs?|pays?|reads?|writes?|accepts?|sends?|gets?|works? with"
    rf"|depends?|approves?|reviews?|replaces?|serves?|covers?|holds?|reports?|merges?|triggers?|wants?|likes?|prefers?"
    rf"|receives?|matches|comes?|lands?|got|moved|has moved|should|must"
    r"|can|cannot|can't|cant|will|won't|doesn't|==|[a-z]{3,}s(?= (?:at|on|in|to|from|every|through|under|by|with|over"
    r"|via|for)\b))(?!\w)"
)
WAS = folded(rf"{SUBJECT}(?:was|were|had)\b")
FOLLOWS = (RULE_OPENS, SINGULAR, PERSON_OPENS)  # how the second of two sentences begins
CUT = frozenset({Act.ASSERTS, Act.HEDGES, Act.REQUESTS})
EXAMPLES = folded(r",?\s+(?:such as|for example|for instance|e\.g\.|including|as well as)\s")
ADVERB = folded(r"^(?:\w+ly|so|i\.e\.|meaning),?\s+")
MAX_CHARS = 380  # of a statement; what says more says several things
MIN_CHARS = 12  # of a half; what is shorter is a gesture


def halves_of(clause: Clause) -> list[Clause]:
    """The sentences that a clause is made of; the clause itself where it is one, or cannot be cut."""
    if clause.own != clause.first or clause.act in SILENT:
        return [clause]  # it explains the clause before and is quoted with it, or what opened it holds for all of it
    cuts = list(cuts_in(clause.text))
    if not cuts:
        return [_without_examples(clause)]
    starts = [0, *(behind for _, behind in cuts)]
    ends = [*(before for before, _ in cuts), len(clause.text)]
    return [_without_examples(_part(clause, first, end)) for first, end in zip(starts, ends, strict=True)]


def cuts_in(text: str) -> Iterator[tuple[int, int]]:
    """Where a clause may be cut: the end of each sentence of its own, and the start of the next."""
    opener = LEADING.match(text)
    start = opener.end() if opener else 0
    for join in JOIN.finditer(text, start):
        before, behind = text[start : join.start()], text[join.end() :]
        if act_of(before) not in CUT and not RULE_OPENS.match(before):
            return
        is_splice = join[0].strip() == ","
        if is_splice and (LEANING.match(before) or LEANING.match(behind)):
            continue
        may_follow = is_splice or DASH.fullmatch(join[0]) or any(opens.match(behind) for opens in FOLLOWS)
        if may_follow and stands_alone(before) and stands_alone(behind):
            yield join.start(), join.end()
            start = join.end()


def stands_alone(text: str) -> bool:
    """Whether some words are a sentence by themselves: a subject with its verb, or an order."""
    bare = ADVERB.sub("", LEADING.sub("", text, count=1).lstrip(" ,:;-("))
    if len(bare) < MIN_CHARS:
        return False
    return any(pattern.match(bare) for pattern in (NAMED_SUBJECT, WAS, RULE_OPENS, PERSON_OPENS, IMPERATIVE))


def _part(clause: Clause, first: int, end: int) -> Clause:
    text = clause.text[first:end].rstrip(" ,")
    act = clause.act if clause.act is Act.HEDGES else act_of(text)
    begin = clause.first + first
    return replace(clause, text=text, first=begin, end=begin + len(text), act=act, own=begin)


def _without_examples(clause: Clause) -> Clause:
    """A clause too long for a statement, up to where it begins to list examples."""
    tail = EXAMPLES.search(clause.text, MIN_CHARS)
    if len(clause.text) <= MAX_CHARS or tail is None:
        return clause
    return _part(clause, 0, tail.start())
