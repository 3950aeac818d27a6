"""Explicit markers of rules, preferences, decisions and requests to remember in languages other than English.

Only what is said for good counts here: `always`, `never`, `from now on`, `remember`, `we decided`. The rest of another
language's grammar is not read.
"""

import re

from dream.records import Kind

RULES = re.compile(
    r"\b(?:ab jetzt|von nun an|ab sofort|künftig|in zukunft|grundsätzlich|immer|niemals|nie wieder|auf keinen fall"
    r"|à partir de maintenant|désormais|dorénavant|toujours|jamais|à l'avenir|de ahora en adelante|a partir de ahora"
    r"|siempre|nunca|d'ora in poi|sempre|mai più|a partir de agora|daqui em diante|voortaan|altijd|nooit|vanaf nu"
    r"|fra nå av|alltid|aldrig|hädanefter|od teraz|zawsze|nigdy|отныне|впредь|всегда|никогда|с этого момента|завжди"
    r"|ніколи|bundan sonra|her zaman|asla)\b|从现在开始|从现在起|以后都?|今后|总是|始终|一定要|永远不要"
    r"|绝对不要|绝不|务必|從現在開始|今後は|これからは|常に|必ず|いつも"
    r"|決して|絶対に|앞으로는?|항상|절대",
    re.IGNORECASE,
)
REMEMBERS = re.compile(
    r"\b(?:merk(?:e)? dir|denk daran|nicht vergessen|zur info|souviens-toi|rappelle-toi|n'oublie pas|note que"
    r"|recuerda que|recuerda|ten en cuenta|no olvides|ricorda(?:ti)? che|ricordati|lembre-se|onthoud|husk at|kom ihåg"
    r"|zapamiętaj|запомни|учти|помни|запам'ятай|unutma)\b|记住|请记得|记得|注意[:：]|記住|覚えて|忘れないで|기억해",
    re.IGNORECASE,
)
DECIDES = re.compile(
    r"\b(?:wir haben (?:uns )?(?:entschieden|beschlossen)|wir nehmen|nous avons décidé|on a décidé|hemos decidido"
    r"|decidimos|abbiamo deciso|decidimos|we hebben besloten|мы решили|решено|zdecydowaliśmy)\b|我们决定|决定用"
    r"|決定使用|ことに(?:決め"
    r"|し)(?:た|ました)|하기로 (?:했|결정)",
    re.IGNORECASE,
)
CORRECTS = re.compile(
    r"^\W*(?:nein|non(?!-)|falsch|das stimmt nicht|c'est faux|no, (?:en realidad|es|está)|eso no es correcto|sbagliato"
    r"|нет|неверно|это не так)\b|^(?:不对|不是|错了|いや|違う|違います|아니)",
    re.IGNORECASE,
)


def foreign_marker(text: str) -> Kind | None:
    """The kind of statement that a marker of another language announces; None where there is none."""
    if RULES.search(text):
        return Kind.PREFERENCE
    if REMEMBERS.search(text):
        return Kind.FACT
    if DECIDES.search(text):
        return Kind.DECISION
    return Kind.CORRECTION if CORRECTS.search(text) else None
