"""The marks by which a clause shows what it is: forms of rules, preferences, corrections, decisions and facts.

Patterns alone; how surely each speaks, and beside which others, is judged in `signals.py`.
"""

from dream.statements.acts import INSIDE, LEAD, NOT_AUXILIARY, NOTE_LABEL, STANDS_APART, TO_THIS_NOT_TO
from memory_server.language.cues import folded

UNIVERSAL = r"(?:all|every|each|any|everywhere|throughout|across|both)"
MANNER = (
    "use|using|write|prefer|keep|name|format|put|call|spell|stick|avoid|sign|prefix|document|tag|target|base|wrap|store"
)
STANDING_MARK = folded(
    r"\b(?:from now on|from here on|going forward|moving forward|in (?:the )?future|as a (?:general )?rule|by default"
    r"|at all times|henceforth|every (?:single )?time|whenever|each time|in general|for all (?:future|new)"
    r"|for every (?:new )?\w+|without exception|no exceptions?|as of today|until further notice)\b"
)
REMEMBER = folded(
    rf"^{LEAD}(?:{NOTE_LABEL}|(?:please |also |just )*(?:(?:can|could) you )?(?:(?:remember|keep in mind|bear in mind"
    rf"|note|make a note|take note|don'?t forget|never forget|memori[sz]e)(?: that\b|:|,)|(?:for the record"
    rf"|for future reference|for your (?:information|memory)|just so you know|so you know|fyi|heads up|save to memory"
    rf"|important)[:,]?))\s*\S"
)
RULE = folded(
    rf"^{LEAD}(?:please |just )*(?:always|never)\s+(?!mind\b|been\b|seen\b|had\b|heard\b|thought\b|really\b)[a-z]+"
    rf"|\b(?:we|you|i|they|one|it|[\w/-]+)\s+(?:should|must|shall|need to|needs to|have to|has to|are to|is to"
    rf"|will)\s+(?:always|never|only|at all times)\b|\b(?:we|you)(?:'d| would| will)?\s+(?:always|never)\s+(?!been"
    rf"|seen|had|heard|thought|said|tried|used|really|actually|did|got|went|managed)[a-z]+\b|\b(?:must|should|shall"
    rf"|may|can)(?: not|n't|nt)\b{INSIDE}{{0,80}}\b(?:ever|under any|again|any ?more|in any case)\b|\b(?:is"
    rf"|are) (?:never|always) (?:to be|allowed|required|forbidden)\b|\b(?:is|are) (?:not allowed|forbidden|mandatory"
    rf"|off[- ]limits|off the table|required for)\b|\bmust(?:n't| not| be(?! \w+ing\b)| use| go| start| end| stay"
    rf"| live| match)\b|\b(?:we|you|everyone|everybody|one) (?:have|has|need|needs) to\b{INSIDE}{{3,80}}\b(?:before"
    rf"|after|when|each|every|whenever)\b|(?:^|:\s)\W*no(?!{STANDS_APART})\s+(?!(?:need|idea|problem|worries|longer"
    rf"|more)\b)[\w-]+"
    r"(?: [\w-]+){0,3} (?:in|on|without|for|before|after|outside|please)\b"
    rf"|^{LEAD}(?:{MANNER})\b{INSIDE}{{3,80}}\b(?:{UNIVERSAL} (?!the (?:above|issues?)\b)[\w-]+|everywhere|throughout)"
    rf"|^{LEAD}(?:before|after|when|whenever|if)\s+(?:you\s+)?\w+(?:ing)?\s+(?:an?|any|every|each|new"
    rf"|another)\b{INSIDE}+,\s*\w|^{LEAD}(?:before|after|for|on|in) (?:every|each|any|all)\b{INSIDE}+,?\s+(?:run|use"
    rf"|add|write|make|check|update|ask)\b"
    r"|^\W*(?!the\b|this\b|that\b|these\b|those\b|it\b|they\b|there\b)[\w-]+(?:\s[\w-]+){0,2}s\s+(?:should|must|need"
    rf" to)\b|^{LEAD}(?:please |just )*(?:ask|check with|talk to|tell|run|read"
    rf"|get)\b{INSIDE}{{2,60}}\bbefore (?:you )?\w+ing (?:any\w*|every\w*|each|an?)\b"
)
LABELLED = folded(
    r"^\W*(?:[\w-]+ ){0,2}(?:rule|policy|convention|guideline|standard|reminder|decision|preference"
    r"|requirement)s?\s*:\s*\w"
)
STANDING_ORDER = folded(
    rf"^{LEAD}(?:please |just )*(?:(?:stick (?:to|with)|adhere to|default to|follow)\s+(?!this\b|that\b|it\b|up\b)"
    rf"|for {INSIDE}{{3,40}}, (?:use|follow|prefer|stick|run|call|write|put|keep)\b|(?:don'?t|do not) (?!forget|worry"
    rf"|bother|need|want|have|know|think|see|like|mind|get|understand|care|remember|just|do\b|be\b|start|wait|touch"
    rf"|change|fix)\w+\s+(?!this\b|that\b|it\b|anything\b|yet\b|now\b|to\b|the\b|these\b|them\b|any of\b))|\b(?:nobody"
    rf"|no ?one|none of (?:us|you)) (?:may|must|can|should)\b|\bi(?:'d like| would like| want| expect) (?:you"
    rf"|claude) to {INSIDE}{{3,80}}\b(?:before|whenever|always|every|each|never)\b"
)  # an order that names no single thing at hand
LIMITS_RULE = folded(
    r"(?:\bnot|n't|\bneedn't|\bno need to|don't (?:have|need|want) (?:you )?to)\s+(?:\w+\s+){0,2}(?:always|every)\b"
    r"|\bnot necessarily\b|\bnever (?:said|meant|claimed|asked|decided|mind|agreed|told)\b|\bdon'?t (?:have|need) to\b"
    r"|\b(?:no|not a|not our|not the|isn't a|never a) (?:such )?(?:rule|policy|law|requirement|decision)\b"
    r"|\bnot true\b|\bnot the case\b|\bnobody (?:said|says)\b"
)
MAKE_SURE = folded(rf"^{LEAD}(?:please |also |but )*(?:make sure|ensure|see to it)\b")
STOP_DOING = folded(
    rf"^{LEAD}(?:please |just )*(?:(?:don'?t|do not) just \w+|stop\s+\w+ing\b|quit\s+\w+ing\b|avoid\s+\w+ing\b"
    rf"|(?:don'?t|do not)\s+(?:ever\b|\w+{INSIDE}{{0,80}}\b(?:ever|again|any ?more|without (?:asking|my|a|an))\b))"
)
PREFERS = folded(
    rf"\b(?:i|we)(?:'d| would)? (?:strongly |really |generally |usually |always |much |personally "
    rf"|actually )*(?:prefer\b(?! not to have to)|favou?r\b|(?:like|love) to (?:use|have|keep) (?:one|a single"
    rf"|the same|only)\b)|\b(?:i|we)'d rather\b|\b(?:my|our) preference\b|\bi (?:like|love) (?:my|our|to have|it when"
    rf"|when)\b{INSIDE}*\b(?:to|in|with|better|best|over|short|small)\b|\bi (?:hate|dislike|can't stand|don'?t like)\b"
    rf"|\bpreferred (?:way|style|tool|format)\b|\bi(?:'d like| would like| (?:only |always "
    rf"|never )?want) {UNIVERSAL}\b|\b(?:is|are) (?:my|our) (?:preferred|favou?rite|default|standard)\b"
)
REJECTS = folded(
    rf"^{LEAD}(?:(?:that|this|it)(?:'s| is| was)|you(?:'re| are)|thats|(?:the|that|this) (?:first|second|last"
    rf"|other) (?:part|one|point|line|sentence) is|`?[\w-]+`?(?: `?[\w-]+`?)? is)\s+(?:again |still |completely "
    rf"|just )*(?:wrong|incorrect|mistaken|not (?:quite )?(?:right|correct|true|accurate|what i (?:said|meant"
    rf"|asked)))\b|^\W*wrong\b{STANDS_APART}"
)  # says that something was wrong, and not yet what is right
OPENS_CORRECTION = folded(r"^\W*(?:no|nope|actually|correction|not quite|sorry|again)\b[\s,.:!-]+\S|\bi meant\b")
NOT_THIS = folded(
    rf"(?:,\s*(?:and\s+|but\s+)?|\s(?:and|but)\s+)not\s+(?!only\b|sure\b|yet\b|just\b|to\b|true\b|the case\b"
    rf"|a problem\b|you\b|really\b)[\w`'\"~./@\\-]+"
    rf"|{NOT_AUXILIARY}(?<!'s)(?<!'re)(?<!'m)(?<!ly)\s+not\s+[\w`'\"~./:@-]+\W*$"
    rf"|\bnot\s+{INSIDE}{{2,50}}?,?\s+but\s+\S|{TO_THIS_NOT_TO}"
)
IN_PLACE_OF = folded(
    rf"\b(?:use|using|prefer|go with|going with|keep|put|write|call|name|stick with|switch to|run|store"
    rf"|target)\b{INSIDE}*\b(?:instead of|rather than|over)\b"
)
DECIDES = folded(
    rf"\b(?:we|i|the team)(?:'ve| have| had)?(?: all| now| finally| just| already| both| also)*\s+(?:decided|agreed"
    rf"|(?:switched|moved|migrated|changed) (?:from|to|over)|chose|chosen|settled|opted|picked|standardi[sz]ed"
    rf"|committed to|concluded|resolved)\b|\bwe (?:had|have|reached|came to) an? (?:[\w-]+ )?(?:agreement|consensus"
    rf"|decision|discussion) that\b|\bwe(?:'ve| have)? (?:moved|migrated|switched) {INSIDE}{{2,40}}? from \S+ to \S"
    rf"|\b(?:the|our|my|final) (?:decision|choice|verdict) (?:is|was|:)|\bdecided:"
    rf"|\bmy thinking (?:here )?is (?:that )?we\b|\b(?:we|i)(?:'re| are|'m| am) (?:going (?:to (?:use|go with|stick"
    rf"|keep|drop|move|adopt|switch)|with)|sticking|moving to|switching to|dropping|standardi[sz]ing|keeping|adopting"
    rf"|retiring|freezing)\b|\b(?:we|i)(?:'ll| will) (?:use|go with|stick (?:with|to)|keep|adopt|move to|switch to"
    rf"|drop|stay (?:on|with)|standardi[sz]e|call (?:it|them|this)|name|store|host|deploy|ship|only|support)\b"
)
LEANS_TO = folded(
    r"\b(?:i|we) (?:do )?(?:think|feel|believe|guess) (?:that |like )?(?:it(?:'s| is)|its|we should|that's|it makes)\b"
    r"|\b(?:it(?:'s| is)|its) better (?:to|not to|if)\b|\bwe should\b|\bmakes (?:more )?sense to\b|\b(?:is"
    r"|are) better (?:for|than|to)\b"
)  # how a person decides politely; with a reason it is meant
WE_SHOULD = folded(
    rf"\bwe should (?:also |not )*(?!all\b|both\b)[a-z]+ {INSIDE}{{3,80}}?\b(?:every|each|any|everywhere"
    rf"|throughout)\b(?! of (?:the|these|those)\b)"
)  # a duty towards a whole kind of things holds longer than the hour
BETTER = folded(
    r"\b(?:is|are) (?:much |way |far |a lot )?(?:simpler|better|nicer|cleaner|easier|safer|faster"
    r"|more (?:\w+))(?! (?:now|already))\b"
)
LETS = folded(
    rf"^{LEAD}(?:let'?s|lets)\s+(?:not\s+|just\s+|also\s+|please\s+)*(?:use|go with|stick (?:with|to)|settle on|keep"
    rf"|adopt|switch to|move to|call|name|standardi[sz]e|store|avoid|stay|drop|skip|leave|make)\b"
)
REASONED = folded(r"\b(?:because|since|so that|due to|given (?:that|the|our)|in order to|as (?:it|that|they|we|the)\b)")
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
DOES_SOMETHING = folded(
    rf"{SUBJECT}(?!(?:shows?|says|prints|throws|fails?|hangs|crashes|breaks?|looks?|seems|flickers?|appears?)\b)"
    r"(?:[a-z]{3,}s(?=\s+(?:(?:the|an?|our|all|every|each|its|their)\b|\d))|(?<=s )[a-z]{3,}(?=\s(?:at|on|in|to|into"
    r"|through|under|by|via|from)\s))"
)  # with any verb of the present; such a sentence tells something lasting only together with an exact value
WE_DO_SOMETHING = folded(
    rf"^{LEAD}(?:(?:for|in|on|at|with) {INSIDE}{{2,40}}?\s|here )?we (?:(?:also|only|usually|always|generally"
    rf"|currently)\s+)*(?!(?:need|want|should|could|can|may|might|must|will|would|had|have|got|get|saw|see|were|was"
    rf"|are|did|do|try|think|thought|know|knew|found|find|went|came|made|lost|hit|ran|spent|said|told|met|are|hope"
    rf"|plan|just|still|\w+ed)\b)"
    r"[a-z]{3,}\b"
)  # the same of a team
OWN_STATE = folded(
    rf"^{LEAD}(?:my (?!plan|question|idea|thought|guess|understanding|goal|first|next|point|mistake"
    rf"|bad)[\w-]+(?: [\w-]+){{0,2}} is\b|i (?:live in|am based in|speak|work (?:from|at|for|in)|'m based in)\b"
    rf"|we(?:'re| are) (?:using|running|on|billed|hosted|charged|paid|limited|based|required|allowed|deploying"
    rf"|targeting|hosting)\b)"
)  # how things stand with the person or the team
FOUND_CAUSE = folded(
    rf"\b(?:issue|problem|cause|culprit|reason|bug|error|failure)s?\s+(?:was|were|turned out to be|came from)\b"
    rf"|\b(?:solved|fixed|resolved|goes away|went away)\s+(?:by|when|with|after|once|through)\s{INSIDE}{{4,}}"
)  # what an error came from, or what ended it
WE_LEARNT = folded(
    r"\bwe(?:'ve| have)? (?:found|learnt|learned|realised|realized|discovered) (?:out )?that\b|\b(?:i|we) (?:already "
    r"|also )?know that\b|\b(?:in|from) (?:my|our) experience\b|\bfrom what (?:i|we)(?:'ve| have)? (?:seen|observed"
    r"|learnt|learned|experienced)\b"
)
WE_DO = folded(
    rf"^{LEAD}(?:(?:for|in|on|at|with) {INSIDE}{{2,40}}?\s|here )?we (?:(?:also|only|usually|always|generally"
    rf"|currently)\s+)*(?:use|deploy|keep|store|run|ship|release|merge|rebase|host|write|name|tag|follow|support"
    rf"|target|have|build|test|track|log|work)\b"
)
PASSING = folded(
    r"\b(?:just|right now|at the moment|today|failing|fails?|failed|failures?|broken|breaks?|crash\w*|stuck|again"
    r"|working|loaded|(?:is|are|all|already|'s) done|errors?|bugs?|issues?|conflicts?|missing|empty|flaky|pushed"
    r"|merged|committed|showing|seems?|good|great|fine|ready|going|happening|weird|strange|problem|comments?"
    r"|this (?:pr|branch|session|commit|change|file|test|one|time|step|phase|task|plan)|the (?:pr|diff|above|first"
    r"|second|last(?! (?:two|three|four|five|\d+|few)\b)|next|other|following|screenshot|changes?|issue|problem"
    r"|comment|question|plan|current|latest|previous|new)|pr \d+|my (?:question|branch|pr|concern|point|guess)|(?:is"
    r"|was) whether|the wrong|before we|here|still|yet|now)\b"
)
OF_THE_HOUR = folded(
    rf"{PASSING.pattern}|^{LEAD}(?:let'?s|any|before|once|after|i (?:noticed|saw|see)|@)|\bwe (?:need|have) to\b"
    rf"|\bwe can\b|\bi(?:'m| am) \w+ing\b"
)  # a reason for what is done or seen now
REQUIRES = folded(
    r"\b(?:should|shouldn't|must|needs? to|has to)\s+(?!be (?:updated|addressed|fixed|moved|added|done|committed"
    r"|closed|merged|renamed|removed|pushed|changed|converted|handled|able)\b|have\b|also be\b|probably\b)(?:also\s+"
    r"|not\s+|automatically\s+)*[a-z]+"
)  # what a named thing is asked to do for good; the passive with a verb of editing is a task
LEANS = folded(
    rf"^{LEAD}(?:it|its|they|their|he|she|(?:this|that|these|those)(?= (?:is|are|was|were|will|should|must|can|needs?"
    rf"|has)\b)|(?:it|that|this|he|she)['’]s|they['’]re)\b"
)  # its subject was named in another sentence, so that alone it says nothing
SCOPE = folded(
    r"\b(?:only|all|every|each|always|never|in any case|by hand|weekly|nightly|daily|monthly|hourly|per \w+|at most"
    r"|at least|by default|owns?|maintains?|protected|generated|deprecated|read-?only|private|public|mandatory"
    r"|optional|contact|owner|lead|maintainer|responsible|in charge|third-party)\b"
)
