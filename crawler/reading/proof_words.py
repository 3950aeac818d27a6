"""Families of English words that change what a sentence says: what a proof of support compares word by word.

Plain tables. Which families are compared at all was chosen on one half of the attacks and of the true statements, and
measured on the other; see RESULTS.md.
"""

import re


def family(words: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(words.split())


STOP_WORDS = family(
    """
    a about above after again all also although am an and any anymore are aren as at back be because been before
    being below between both but by can could did do does doing done down during each either else even ever
    every everything few for from further get gets getting go goes going got had has have having he her here him
    his how i if in instead into is it its itself just let like made make makes making may me might mine more
    most much must my myself need needs neither never no nor not now of off on once one only onto or other
    others ought our out over own per please quite rather really same shall she should since so some something
    still such than that the their them then there these they thing things this those though through to together
    too toward under until up upon us use used uses using very via want wants was way we well were what when
    where whether which while who whom whose why will with within without would yes yet you your yours s t ll re
    ve d m don doesn didn isn wasn aren won wouldn shouldn couldn hasn haven hadn cannot first last person user
    assistant claude always
    """
)
OPENERS = family(
    """
    ok okay yes yeah yep no nope and but also so please pls well now actually then right sure great thanks hey
    hi claude btw just
    """
)  # ahead of a statement, where they belong to the talk
UNDENIED = family("the this that these those a an we i it you they he she there")  # which no `no` can be about
IRREGULAR = dict(
    pair.split("=")
    for pair in """
    ran=run chose=choose chosen=choose wrote=write written=write kept=keep built=build sent=send made=make
    forbade=forbid forbidden=forbid
    went=go gone=go took=take taken=take gave=give given=give found=find got=get held=hold left=leave lost=lose
    meant=mean met=meet paid=pay said=say told=tell thought=think broke=break broken=break done=do did=do
    shown=show seen=see saw=see children=child people=person has=have had=have is=be are=be was=be were=be
    been=be being=be does=do db=database repo=repository repos=repository docs=document doc=document
    documentation=document config=configuration configs=configuration env=environment info=information
    pr=pullrequest prs=pullrequest app=application apps=application auth=authentication dir=directory
    dirs=directory folder=directory folders=directory specs=spec specification=spec vs=against param=parameter
    params=parameter msg=message id=identifier ids=identifier
    """.split()
)
ENDINGS = (
    ("ies", "y"), ("sses", "ss"), ("ations", "ate"), ("ation", "ate"), ("ments", "ment"), ("ings", ""), ("ing", ""),
    ("edly", ""), ("ied", "y"), ("ed", ""), ("es", ""), ("s", ""), ("ly", ""),
)  # fmt: skip
NUMBERS = dict(
    pair.split("=")
    for pair in """
    one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 twelve=12 twenty=20 thirty=30 sixty=60
    hundred=100 twice=2 double=2 both=2 single=1 half=0.5 dozen=12 first=1st second=2nd third=3rd
    """.split()
)
NO_COUNT = family("one single both first second third half double twice")  # words of number that count nothing
UNITS = family(
    """
    second sec s ms millisecond minute min hour h day week month year quarter kb mb gb tb byte percent px em
    item row line character char token dollar euro usd km cm time retry attempt
    """
)

COMMANDING = family(
    """
    allow permit grant forbid ban prohibit disallow deny block reject revoke disable enable delete remove drop stop skip
    bypass override add install replace close publish push merge share send expose trust force avoid
    """
)  # verbs of permission, direction and change, of which none may be new

# -- negation ---------------------------------------------------------------------------------------------------------

NEGATIONS = family(
    """
    not never no none nobody nothing neither nor without cannot nowhere dont doesnt didnt isnt arent wasnt wont
    cant shouldnt couldnt wouldnt havent hasnt
    """
)
DENYING = family(
    """
    avoid skip remove drop omit exclude refuse reject stop instead rather disable unsupported ignore forbid
    forbidden ban only wrong except unless lack miss missing prevent block leave postpone deprecated delete hide
    abandon free fail less few hardly rarely barely unnecessary impossible undo revert prohibit disallow retire
    replace eliminate off away unable incorrect false invalid minus outside differ different independent
    separate unneeded useless unwanted redundant
    """
)  # what says no in other words
NO_DENIAL_BEHIND = family("only just sure least necessarily problem idea worries doubt matter yet")  # `not only`
ASIDE = family("forget worry mind hesitate")  # behind `don't`

# -- opposites --------------------------------------------------------------------------------------------------------

OPPOSITES = """
allow forbid|allow deny|allow prevent|allow block|allow reject|allow prohibit|permit forbid|use avoid|enable disable
add remove|add delete|add drop|keep delete|keep remove|keep drop|keep replace|include exclude|accept reject
accept refuse|require optional|mandatory optional|start stop|merge split|join split|show hide|open close|sync async
synchronous asynchronous|public private|slow fast|quick slow|strict loose|strict lenient|manual automatic|manual auto
automated manual|encrypt plain|encrypted unencrypted|encrypt decrypt|local remote|support lack|before after|first last
increase decrease|increase reduce|raise lower|minimum maximum|min max|up down|in out|inside outside|above below
left right|top bottom|earlier later|push pull|upload download|read write|input output|client server|frontend backend
old new|older newer|high low|higher lower|more less|more fewer|larger smaller|bigger smaller|longer shorter|wide narrow
tight loose|best worst|good bad|better worse|easy hard|simple complex|true false|on off|safe unsafe|valid invalid
online offline|internal external|static dynamic|mutable immutable|success failure|succeed fail|pass fail|create delete
create destroy|install uninstall|lock unlock|connect disconnect|attach detach|link unlink|import export|encode decode
compress decompress|expand collapse|visible hidden|shallow deep|many few|always never|everyone nobody|all none
like dislike|like hate|love hate|approve reject|agree disagree|trust distrust|eager lazy|commit revert|keep discard
save discard|cache uncached|separate together|separate same|same different|shared separate|shared own|single multiple
one several|ascending descending|horizontal vertical|light dark|early late|begin end|start end|buy sell|send receive
request response|parent child|upstream downstream|producer consumer|source target|source destination|sender recipient
owner viewer|owner guest|deterministic random|stateless stateful|verbose terse|verbose quiet|short long
centralized decentralized|serial parallel|sequential parallel|optional required|possible impossible|relative absolute
temporary permanent|ignore track|ignore respect|stay leave|stay go|move stay|freeze thaw|grow shrink|tighten loosen
deprecated supported|needed unneeded|necessary unnecessary|human machine|human agent|win lose|rise fall|day night
weekly daily|daily monthly|weekly monthly|hourly daily|seconds minutes|minutes hours|hours days|days weeks|weeks months
mb gb|kb mb|production staging|prod staging|dev prod|unit integration|copy move|wait proceed|explicit implicit
follow ignore|abort continue|pause resume|fold unfold|squash separate
"""
SMALL_OPPOSITES = family(
    """
    before after up down in out above below on off more less first last always never all none inside outside
    use used
    """
)  # of these, the words of grammar
TURNING = ("un", "non-", "non", "dis", "in", "im", "ir", "de")  # prefixes that make the opposite

# -- how much, and for how long ---------------------------------------------------------------------------------------

UNIVERSAL = family(
    """
    all every each always whole entire everything everywhere everyone any anything anywhere whenever never none
    both throughout across entirely completely fully only solely exclusively
    """
)
PASSING = re.compile(
    r"\b(?:for now|for the (?:moment|time being)|temporar(?:y|ily)|until|till|today|tonight|tomorrow|this (?:week|month"
    r"|sprint|afternoon|morning|time|release|quarter|year)|(?:for|in|on|of) this (?:\w+ )?(?:pr|branch|commit|session"
    r"|page|ticket|test|one|round|file)|right now|at the moment|just (?:this )?once|interim|meanwhile|stopgap"
    r"|in the meantime|these days)\b",
    re.IGNORECASE,
)
TELLS_TIME = re.compile(r"\b(?:now|current|first|once|while|when|before|after)|temporar", re.IGNORECASE)
FORMER = re.compile(
    r"\b(?:used to|last (?:year|month|week)|previously|formerly|back then|originally|in the past|ago)\b", re.IGNORECASE
)
IS_FORMER = re.compile(r"\b(?:no longer|not|any ?more|has been|have been|had|was|were|used to)\b", re.IGNORECASE)
CLAIMS_DONE = re.compile(r"\b(?:already|has been|have been|is done|are done|is now|are now|was|were)\b", re.IGNORECASE)
PAST = re.compile(r"\b(?:was|were|used to|had)\b", re.IGNORECASE)
NOT_PAST = re.compile(r"\b(?:is|are|has|have|will|should|must|need|can|do|does|be)\b|'(?:s|re)\b", re.IGNORECASE)
PRESENT = re.compile(r"\b(?:is|are|has|have)\b", re.IGNORECASE)
TELLS_PAST = re.compile(r"\b(?:was|were|had|been|did|\w+ed)\b", re.IGNORECASE)
COMPLETED = re.compile(r"\b(?:has|have) been \w+|\b(?:was|were) \w+ed\b", re.IGNORECASE)
COMPLETES = re.compile(r"\b(?:has|have|had|was|were|been|done|did|already|finished|\w{3,}ed)\b", re.IGNORECASE)
CAUSAL = re.compile(
    r"\b(?:because|since|due to|therefore|so that|thanks to|caused? by|causes?|leads? to|in order to|which is why|hence"
    r"|as a result)\b",
    re.IGNORECASE,
)
GIVES_REASON = re.compile(r"\b(?:so|as|to|for|why|reason|otherwise|that's|makes?|means?)\b", re.IGNORECASE)
TELLS_DONE = re.compile(r"\b(?:already|been|done|now|was|were|did|made)\b|\w{3,}ed\b", re.IGNORECASE)

# -- what is not stated -----------------------------------------------------------------------------------------------

HEDGED = re.compile(
    r"\b(?:maybe|perhaps|might|possibly|not sure|unsure|wonder(?:ing)?|what if|suppos(?:e|ing)|imagine"
    r"|hypothetical(?:ly)?|in theory|(?:would|'d) be (?:nice|great|cool|good|fun|interesting|lovely|handy)"
    r"|i(?:'m| am) (?:thinking|considering|tempted|toying|leaning|inclined)|thinking (?:of|about)|considering"
    r"|one (?:idea|option|day|thought)"
    r"|some ?day|at some point|eventually|i guess|presumably|could be|i(?:'d| would) love|i wish|hopefully|i hope"
    r"|if we ever|were we to|suspect|i doubt|not decided|undecided|open question|tbd|let me think|sounds like"
    r"|seems? to|rumou?r|allegedly|supposedly|apparently|i heard|someone (?:said|told)|for a week|experiment"
    r"|try (?:out|for|how)|trial|propos(?:e|ed|al|ing))\b",
    re.IGNORECASE,
)
HEDGES = family(
    """
    maybe perhaps might possibly may could should would considers considered considering proposed idea wish
    wishes like likes likely unsure thinks suspected suspects planned plan hopes wants nice probably seems
    experiment trial whether open question undecided asks asked prefer preferred prefers
    """
)  # with one of which a statement does not state it flat
ASKS = re.compile(
    r"^\W*(?:(?:and|so|but|ok(?:ay)?|hm+|well|also|then)[, ]+)*(?:what|why|how|where|which|who|when|is|are|was|were|do"
    r"|does|did|should|shall|am|has|have|had|will|won'?t|isn'?t|aren'?t|don'?t|doesn'?t|may|might)\b",
    re.IGNORECASE,
)
REQUESTS = re.compile(
    r"\b(?:can|could|would|will) (?:you|we|it|i)\b|\bplease\b|\bwhy (?:are|is|do|does|did|not)\b"
    r"|\bcan'?t (?:we|you|it)\b|\bshouldn'?t (?:we|it|this|that)\b|\bdon'?t (?:we|you)\b|\b(?:isn|aren)'?t\b",
    re.IGNORECASE,
)  # asks for something, or reproaches, in the form of a question

# -- what was taken back ----------------------------------------------------------------------------------------------

RETRACTS = re.compile(
    r"\b(?:scratch that|never ?mind|forget (?:that|it|what i|about that|everything i)|on second thoughts?"
    r"|i(?:'ll)? take (?:that|it|this|all that) back|taking (?:that|it) back|ignore (?:the above|that|what i|my|this)"
    r"|strike that|disregard|i was wrong|i(?:'m| am| was) (?:mistaken|confused)|my mistake|my bad"
    r"|(?:wait|hmm?|oh|argh|ah|well|actually|sorry),? no\b|no,? wait|(?:undo|revert) (?:that|it|this)(?!\?)"
    r"|cancel that|correction:|edit:|changed my mind|not any ?more\b|(?:is|was|consider (?:it|that)) (?:dropped|void"
    r"|off|moot|withdrawn|obsolete|outdated)|void\b|withdraw|i retract|retract (?:that|it)|drop that|the opposite"
    r"|other way (?:a)?round|that(?:'s| is| was) (?:wrong|not true|not right|nonsense|outdated|old)"
    r"|should(?:n'?t| not) have said|kidding|joking|just testing(?=\W*$|[.!,;])|leave (?:it|that) out"
    r"|back and forth|rather not"
    r"|belay that|keep it as it (?:was|is)|as it was before|misspoke|i meant|make that|read that as"
    r"|not what i (?:meant|said))\b",
    re.IGNORECASE,
)
CORRECTS = re.compile(r"^\W*(?:(?:no|nope),|no[.!]|(?:actually|wait|sorry|correction|edit|argh|hmm+)\b)", re.IGNORECASE)
REFUSES = re.compile(r"^\W*(?:no|nope|nah|not? (?:quite|really|that)|don'?t)\b", re.IGNORECASE)
FAVOURS = family("prefer preferred prefers favour favor chosen chose preferring take takes pick")  # ahead of `over`
