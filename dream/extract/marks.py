"""The marks that a clause may bear: one table with what each is, a clause that bears it and one that does not.

A mark decides nothing. The scorer weighs all of them together with where and how the clause was said, and `why` names
those that speak for it.
"""

from dataclasses import dataclass
from re import Pattern

from dream.records import Kind
from memory_server.language.cues import folded

START = r"^\W*(?:(?:and|but|so|also|ok(?:ay)?|yes|yeah|no|well|please|pls|just|then|now|actually|maybe)\b[\s,.!:-]*)*"
LEANS = rf"{START}(?:it|its|it's|they|their|this|that|these|those|that's|thats|he|she|there)\b"


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark. `words` tell it to a reviewer; empty where it speaks of the moment. `kind`: what it makes a clause."""

    id: str
    pattern: Pattern[str]
    example: str
    counter: str
    words: str = ""
    kind: Kind | None = None


def _mark(name: str, pattern: str, example: str, counter: str, words: str = "", kind: Kind | None = None) -> Mark:
    return Mark(name, folded(pattern), example, counter, words, kind)


# fmt: off
MARKS = (
    _mark("remember", r"\b(?:remember|keep in mind|bear in mind|(?:make a|take) note|note (?:that|to self)|memori[sz]e"
          r"|for (?:future reference|the record)|don'?t forget|just so you know|fyi|heads up|referenced in future"
          r"|merk dir|vergiss nicht|souviens-toi|recuerda)\b|记住|覚えて",
          "remember that Marta owns billing", "Marta owns billing", "asked to be remembered", Kind.FACT),
    _mark("always", r"\b(?:always|never|ever|must(?:n't)?|at all times|without exception|forbidden|mandatory|required"
          r"|immer|niemals|nie|toujours|jamais|siempre|nunca|sempre|mai)\b|总是|从不|必ず|決して",
          "always run the linter", "run the linter", "a rule: always, never, must", Kind.PREFERENCE),
    _mark("for good", r"\b(?:from now on|from here on|going forward|in (?:the )?future|as a (?:general )?rule|whenever"
          r"|by default|(?:every|each) (?:single )?time|in general|usually|normally|until further notice|ab jetzt"
          r"|ab sofort|in zukunft|désormais|de ahora en adelante|d'ora in poi)\b|从现在|今後",
          "from now on use pnpm", "use pnpm for this", "said for good: from now on, whenever", Kind.PREFERENCE),
    _mark("every", r"\b(?:all|every|each|any|everywhere|throughout|across|both|everything|no one|nobody|only)\b",
          "every module has its tests", "the module has its tests", "holds for every one of them"),
    _mark("must not", r"\b(?:don'?t|do not|shouldn'?t|should not|mustn'?t|stop \w+ing|avoid|can(?:'t|not) \w+"
          r"|not allowed)\b|^\W*no (?!\w+ing|idea|problem)[a-z]+s?\b (?:in|on|for|without)\b",
          "don't push to main", "push to main", "says what is not to be done", Kind.PREFERENCE),
    _mark("should", r"\b(?:should|shall|ought to|needs? to|has to|have to|supposed to"
          r"|wants? (?:it|this|that|them|these|all|you))\b",
          "the footer should show the status", "the footer shows the status", "says how it should be", Kind.DECISION),
    _mark("instead", r"\b(?:instead|rather|in place of|as opposed to)\b|\bnot \w+,? but\b"
          r"|,? (?:and )?not (?!only|sure|yet|just)(?:to |on |in |at )?[\w`./-]+\W*$",
          "we log to MLflow, not to wandb", "we log to MLflow", "this instead of that", Kind.CORRECTION),
    _mark("decided", r"\b(?:we|i|team)(?:'ve| have| had)?(?: \w+)? (?:decided|agreed|chose|chosen|settled|opted"
          r"|picked|switched|moved|migrated|standardi[sz]ed)\b|\bdecision\b|\b(?:go|going|went) with\b"
          r"|\bstick(?:ing)? (?:with|to)\b",
          "we decided to use zstd", "zstd is fast", "a decision", Kind.DECISION),
    _mark("let's", rf"{START}(?:let'?s|let us|lets|we(?:'ll| will| are going to|'re going to))\b",
          "ok, let's use vite", "vite is used", "a decision", Kind.DECISION),
    _mark("prefers", r"\b(?:prefer\w*|favou?r|would (?:like|love)|i'd (?:like|love|rather)|would be (?:\w+ )?(?:nice"
          r"|great|good|better|nicer|best)|i (?:really )?(?:like|love|hate|dislike|want))\b",
          "I prefer small commits", "small commits help", "a stated preference", Kind.PREFERENCE),
    _mark("better", r"\b(?:better|simpler|cleaner|nicer|safer|easier|best|enough|suffice|overkill|makes? sense"
          r"|important|priority|too (?:much|many|granular|complex|complicated|low|high|slow))\b",
          "by file is too much", "it is stored by file", "a judgement of what is better", Kind.DECISION),
    _mark("reason", r"\b(?:because|since|so that|so (?:we|it|they|users?)|due to|given (?:that|the|our)|in order to"
          r"|the reason|otherwise|that way|as (?:it|they|we|the))\b",
          "use zstd because gzip is slow", "use zstd", "said with its reason"),
    _mark("ensure", r"\b(?:make sure|ensure|be sure|see to it|double.?check)\b",
          "make sure all steps are followed", "follow all steps", "asked for with care", Kind.PREFERENCE),
    _mark("corrects", r"^\W*(?:no|nope|actually|wrong|correction|not quite|nein|falsch|non|нет|不对)\b"
          r"|\bi (?:meant|mean)\b|\b(?:that|this|it)(?:'s| is| was) (?:wrong|incorrect|not (?:right|correct|true))\b",
          "no, the relay runs on 10.0.0.4", "the relay runs on 10.0.0.4", "corrects what was said", Kind.CORRECTION),
    _mark("we", r"\b(?:we|our|us|we're|we've|ours)\b",
          "we use migrations in staging", "migrations are used", "tells how the team works"),
    _mark("is so", rf"{START}(?!(?:it|this|that|there|what|i|you)\b)(?:the |our |my |an? )?[\w`@./'-]+(?: [\w`@./'-]+"
          r"){0,5} (?:is|are|has|have|uses?|needs?|runs?|lives?|depends?|supports?|requires?|belongs?|owns?"
          r"|handles?|can"
          r"|cannot|can't|will|won't|doesn't|don't|\w{3,}s (?:at|on|in|to|from|every|by|with|through))\b",
          "the relay listens on port 2525", "check the relay", "a statement about a named thing", Kind.FACT),
    _mark("cannot", r"\b(?:can(?:'?t|not)|unable|no access|do(?:es)?(?:n'?t| not) (?:support|have|work)|only supports?"
          r"|won'?t (?:work|run)|impossible)\b",
          "sub-agents cannot use it", "sub-agents use it", "says what is not possible", Kind.FACT),
    _mark("thinks", r"\b(?:i (?:think|guess|believe|suppose|feel|suspect|assume)|maybe|perhaps|probably"
          r"|possibly|not sure|seems?|i wonder|hmm+)\b", "I think that is enough", "that is enough"),
    _mark("task", rf"{START}(?:can you |could you |you can |let'?s |lets )?(?:add|address|check|clean|commit|continue"
          r"|create|debug|delete|deploy|do|execute|explain|find|fix|generate|get|give|go|have a look|help"
          r"|implement|install"
          r"|investigate|look|make|merge|move|open|plan|pull|push|read|rebase|refactor|remove|rename|rerun"
          r"|restart|retry"
          r"|review|rewrite|run|send|show|start|summari[sz]e|switch|tell|test|try|undo|update|verify|wait|write"
          r"|proceed)\b",
          "fix the failing test", "the tests are in src"),
    _mark("commits", r"\b(?:commit|push|prs?|pull request|merge|rebase|branch|main|worktree)\b",
          "commit and push it", "write it down"),
    _mark("trouble", r"\b(?:errors?|fail\w*|broken|breaks?|bug|crash\w*|stuck|weird|strange|wrong|issue|problem|missing"
          r"|doesn'?t work|not working|annoying|still (?:not|see\w*|getting|happen\w*)|getting"
          r"|i (?:see|saw|got|get|tried|noticed))\b", "still getting the error", "the relay is in Berlin"),
    _mark("hour", r"\b(?:right now|at the moment|today|currently|yet|still|again|already|(?<!from )now"
          r"|this time|next (?!\w+day)|last|above"
          r"|below|screenshot|just (?:ran|did)|this (?:pr|branch|session|commit|change|file|test|one"
          r"|step|phase|task|plan))\b",
          "the branch is pushed now", "branches are short"),
    _mark("past", r"\b(?:was|were|did|had|went|came|took|made|got|saw|said|ran|happened|\w{3,}ed)\b",
          "it was created yesterday", "it runs at night"),
    _mark("limits", r"(?:\bnot|n'?t|\bneedn'?t|\bno need to|don'?t (?:have|need) to)\s+(?:\w+\s+){0,2}(?:always"
          r"|every)\b"
          r"|\bnot necessarily\b|\bnever (?:said|meant|claimed|asked|decided|mind|agreed|told)\b|\bdon'?t have to\b"
          r"|\b(?:no|not a|not our|isn't a|never a) (?:such )?(?:rule|policy|requirement|decision)\b"
          r"|\bnot (?:true|the case)\b",
          "you don't always have to run it", "always run it"),
    _mark("names its value", rf"{START}(?:(?:the|our|my|all|an?) )?[\w`@/.'-]+(?: [\w`@/.'-]+){{0,5}} (?:is|are"
          r"|listens?|runs?|lives?"
          r"|writes?|land|points?|goes|starts?|ends?|close[sd]?|expires?|happens?|costs?|takes?|(?:has )?moved"
          r"|got|open|pay)\b",
          "the relay listens on port 2525", "fix the port of the relay", "a stated fact with its value", Kind.FACT),
    _mark("leans", LEANS, "that is better", "vite is better"),
    _mark("you", r"\b(?:you|your|you're|you've)\b", "you forgot a test", "we forgot a test"),
    _mark("answers", r"^\W*(?:ok(?:ay)?|yes|yeah|yep|yea|sure|great|cool|perfect|nice|good|thanks|right|awesome|no|nope"
          r"|alright|sounds good)\b", "ok then", "then use it"),
    _mark("delegates", r"\b(?:you decide|your (?:call|choice)|up to you|whatever you|(?:option|variant) \w)\b",
          "you decide", "the client decides"),
)
# fmt: on
EXPLICIT = frozenset({"remember", "always", "for good", "decided"})  # offered whatever else speaks
WITH_VALUE = frozenset({"names its value", "corrects"})  # the same where an exact value stands in the clause
AGAINST = frozenset({"hour", "trouble", "thinks", "leans", "limits"})  # what such a clause must not bear


def marks_of(text: str) -> frozenset[str]:
    """The marks that a clause bears."""
    return frozenset(mark.id for mark in MARKS if mark.pattern.search(text))
