"""Values that are secret because of the name beside them.

A name promises a password, a token, a key of some sort, or nothing secret. It is read as its words: `dbPassword`,
`DB_PASSWORD` and `db.password` are the same two. So `monkey`, `tokenizer` and `author` promise nothing, and neither do
`token_count` and `password_file`, whose last word says what they hold.

One grammar for all forms: a name, what closes it, a sign, what opens the value, the value. It covers environment files,
JSON, YAML, TOML, code, XML, headers, addresses, command lines, tables and sentences. A list and a block of lines below
the name are values too. `values.py` tells what is no secret.
"""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import Any

from memory_server.redaction.values import (
    JOINED,
    Span,
    entropy,
    is_harmless,
    is_random,
    is_worded,
    mixes_kinds,
    pattern,
)

PASSWORDS = frozenset(
    "password passwords passwd passwort kennwort passphrase passphrases passcode passcodes psk pass pwd pwds pw"
    " userpass contraseña contrasena motdepasse senha wachtwoord 密码 口令 パスワード пароль 비밀번호".split()
)
SECRETS = frozenset(
    "secret secrets token tokens credential credentials cred creds apikey apikeys pat pats jwt mnemonic otp dsn"
    " sas seed authtoken accesstoken secretkey accesskey privatekey authkey 密钥 令牌".split()
)
PASSWORD_ENDS = ("password", "passwd", "passwort", "passphrase")  # of words that are written as one: PGPASSWORD
SECRET_ENDS = ("secret", "token", "apikey", "secretkey", "accesskey", "privatekey", "authkey")
LAST_SECRETS = frozenset("auth authorization bearer".split())  # secret at the end of a name only
KEY_WORDS = frozenset(("key", "keys"))
SECRET_KEYS = frozenset(  # words before `key` that make it one which opens something
    "api access auth private secret signing sign encryption encrypt decryption master service role shared account"
    " client app deploy deployment hmac admin license licence webhook root ssh gpg pgp jwt aes rsa tls ssl server"
    " write ingest integration application subscription consumer personal user team live test prod production x".split()
)
SOME = frozenset("key keys session sid sessionid cookie code signature sig credential webhook connection".split())
# A last word that says what the rest is about, or a word before `key` or `token` that makes it no secret.
LAST_WORDS = frozenset(
    "name names id ids file files filename path paths url uri type types ttl expiry expires expiration expired at"
    " in length size sizes format header headers prefix suffix enabled disabled required policy class var env"
    " count counts limit limits usage used budget hash hashed hasher field fields store manager vault version ref"
    " arn endpoint mode method methods status state error errors valid validity rotation reset strength input"
    " output label placeholder hint regex pattern validator provider index kind source description duration"
    " timeout age cost price program address addr service len max min number num position pos offset char chars"
    " text parser stream list map set by for is link links network enc alg changed missing invalid ring board code"
    " codes bytes tokenizer encoder scheme location created updated rate".split()
)
HARMLESS_WORDS = frozenset(
    "max min num n total input output prompt completion cache cached context budget used avg per special pad eos"
    " bos unk stop next page continuation design syntax public primary foreign sort partition object map dict row"
    " group unique hot idempotency translation i18n query react registry column hash range lookup event shortcut"
    " sequence state host known entry composite natural surrogate node config json metadata label tag index"
    " route".split()
)
# A name has 80 characters at most.
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")

STEM = (
    r"(?:(?:api|access|auth|private|secret|signing|encryption|service|deploy|master|license|account|ssh|mot de"
    r"|client|recovery)[ \t](?:keys?|passe|tokens?|secrets?)|pass(?:w(?:or)?d|wort|phrase|code)?s?|pwd?s?|psk|kennwort"
    r"|senha|wachtwoord|contrase(?:ñ|n)a|secrets?|tokens?|creds?|credentials?|keys?|auth(?:orization)?|bearer|jwt|pats?|otp|dsn"
    r"|mnemonic|seed|_session|密码|口令|密钥|令牌|パスワード|пароль|비밀번호)"
)
GAP = r"[ \t]+(?:for|of|to|on|in|at|from|that|we|i|with|by|here|below|used)(?:[ \t]+[\w.'/@-]{1,24}){0,6}?"
BLANK = r"[ \t\x{a0}\x{2000}-\x{200a}\x{202f}\x{3000}]"  # as pages and chats have them
SIGN = (
    rf"(?:{BLANK}*:{BLANK}*(?:&?(?:'static )?str(?:ing)?|char|bytes|any|text|optional\[str\]"
    rf"|str(?:ing)? \| \w+){BLANK}*={BLANK}*"
    rf"|%3[da]|:-|{BLANK}*(?::=|=>|->|→|={{1,3}}|\?=|\+=|：|:){BLANK}*|{BLANK}+(?:is|was|are|to|as)[: \t\x{{a0}}]+"
    rf"|{GAP}(?:{BLANK}*(?::|=|->|→){BLANK}*|{BLANK}+(?:is|was)[: \t\x{{a0}}]+)"
    rf"|{BLANK}+--(?:body|value)[ =]|\"(?:\r?\n){{2}}"
    rf"|{BLANK}*[|>]{BLANK}*|,?\s*[\"']?\bvalue[\"']?{BLANK}*[:=]{BLANK}*|{BLANK}*,{BLANK}*|{BLANK}*\({BLANK}*|{BLANK}+)"
)
NAME = pattern(rf"(?i)[\w.$-]*{STEM}[\w.-]*")
ASSIGNED = pattern(
    rf"(?i)((?:[\\\"'`\])*]|&quot;){{0,6}}?(?:[ \t]\([^()\n]{{1,30}}\))?)({SIGN})"
    r"((?:[\[(]\s*)?(?:!{1,2}\w+[ \t]+)?(?:[bruf]{1,2}[\"'`])?(?:%22|&quot;|\*\*|[\\\"'`“‘«]){0,6}"
    r"(?:(?:bearer|basic|token|api-?key|key|bot|ssws|geniekey|oauth|digest|jwt|dpop)[ \t]+)?)"
)
VALUE = pattern(r"[^\s\"'`\\,;<>(){}\[\]|]{1}[^\s\"'`\\<>|]{3,}")
QUOTED = pattern(r"[^\s\"'`\\]{4,}")
NEXT_ITEM = pattern(r"[\"'`]?\s*,\s*[\"'`]")
JOINS = pattern(r"[\"'`][ \t]*[+.\\]?[ \t]*(?:\r?\n)?[ \t]*[+.]?[ \t]*[brufBRUF]{0,2}[\"'`]")
BLOCK = pattern(
    r"[ \t]*(?:[|>][+-]?\d?[ \t]*)?(?:\r?\n|\\n)+(?:```\w*\n)?((?:[ \t]*(?:[-+>] ?)*[^\s]{8,}[ \t]*(?:\r?\n|\\n|$))+)"
)
LINE = pattern(r"[^\s\\]{8,}")
WEAK_SIGNS = frozenset((">", "|", "to", "as", ",", "", "(", "is", "was", "are", "->"))  # they stand between words too
LONGEST = 256  # bytes of a value that are judged; what is secret is masked to its end
BLOCK_REACH = 4_000
LONGEST_NAME = 80


class Promise(IntEnum):
    """How little it takes for a value beside the name to be masked."""

    NOTHING = 0
    SOME = 1  # `key`, `session`: the value must look drawn by a machine
    SECRET = 2  # `token`, `api_key`: the value must not look like words
    PASSWORD = 3  # people choose these, so they look like anything


@lru_cache(maxsize=4096)  # names come again and again
def find_promise(name: str) -> Promise:
    """What a value under this name is, as far as the name tells."""
    words = [word.lower() for word in WORDS.findall(name)]
    if not words:
        return Promise.NOTHING
    if words == ["pass"] or words[-1] in LAST_SECRETS:  # tests pass, too
        return Promise.SECRET
    joined = "".join(words)
    if not PASSWORDS.isdisjoint(words) or joined in PASSWORDS or any(word.endswith(PASSWORD_ENDS) for word in words):
        return Promise.NOTHING if words[-1] in LAST_WORDS else Promise.PASSWORD
    if words[-1] in LAST_WORDS:
        return Promise.NOTHING
    if any(word in KEY_WORDS and before in SECRET_KEYS for before, word in pairwise(words)):
        return Promise.SECRET
    if not HARMLESS_WORDS.isdisjoint(words):
        return Promise.NOTHING
    if not SECRETS.isdisjoint(words) or joined in SECRETS or any(word.endswith(SECRET_ENDS) for word in words):
        return Promise.SECRET
    return Promise.SOME if words[-1] in SOME else Promise.NOTHING


def find(data: bytes) -> Iterator[Span]:
    """The values of all names that promise a secret."""
    position = 0
    for name in NAME.finditer(data):
        if name.start() >= position and (promise := find_promise(name[0][-LONGEST_NAME:].decode(errors="replace"))):
            for span in _values(data, name, promise):
                yield span
                position = span.end


def _values(data: bytes, name: Any, promise: Promise) -> Iterator[Span]:
    match = ASSIGNED.match(data, name.end())
    if not match:
        return
    opened, sign = match[3], match[2].decode().strip().lower().rsplit(" ", 1)[-1]
    is_quoted = opened.endswith((b'"', b"'", b"`", b"%22", b"&quot;"))
    at = match.end()
    if sign in (":", "：") and not is_quoted:
        block = BLOCK.match(data, match.end(2), match.end(2) + BLOCK_REACH)
        if block:
            is_plain = not block[0].strip().startswith((b"|", b">", b"-"))  # a value below its name, as people write it
            for line in LINE.finditer(data, *block.span(1)):
                if not is_secret_value(promise, line[0].decode(errors="replace"), is_quoted=False, is_weak=is_plain):
                    return
                yield Span(line.start(), line.end(), "secret")
            return
    if sign == "(" and (not is_quoted or not find_promise(name[0].decode(errors="replace").rpartition(".")[2])):
        return  # a call of something that has a secret
    is_option = name[0].startswith(b"-") and sign in ("", "=")
    is_weak = sign in WEAK_SIGNS and not is_option and not (promise is Promise.PASSWORD and sign in ("is", "was"))
    shape = QUOTED if is_quoted else VALUE
    if b"(" in opened and not is_quoted:
        return  # code in brackets
    if is_quoted and len(parts := list(_literals(data, at))) > 1:
        joined = b"".join(data[begin:end] for begin, end in parts).decode(errors="replace")
        if is_secret_value(promise, joined, is_quoted=True, is_weak=is_weak):
            yield from (Span(begin, end, "secret") for begin, end in parts)
        return
    while value := shape.match(data, at, at + LONGEST):
        text = value[0].decode(errors="replace")
        trimmed = text if is_quoted else trim_value(text)
        if not is_secret_value(promise, trimmed, is_quoted=is_quoted or is_option, is_weak=is_weak):
            return
        if value.end() == at + LONGEST:
            value = shape.match(data, at)
        yield Span(at, value.end() - len(text[len(trimmed) :].encode()), "secret")
        following = NEXT_ITEM.match(data, value.end()) if b"[" in opened else None
        if not following:
            return
        at = following.end()


def _literals(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """The places of literals that code joins to one value, over lines too: `"ab" + "cd"`."""
    while part := QUOTED.match(data, at, at + LONGEST):
        yield part.span()
        following = JOINS.match(data, part.end())
        if not following:
            return
        at = following.end()


def trim_value(value: str) -> str:
    """A value that no quote ends, without what ends the sentence, the map or the list around it."""
    for opening, closing in ("()", "[]", "{}"):
        if opening not in value:
            value = value.partition(closing)[0]
    return value.rstrip(".,;:!?")


def is_secret_value(promise: Promise, value: str, *, is_quoted: bool, is_weak: bool) -> bool:
    """Whether a value that is assigned to a name is a secret rather than code, a placeholder or an identifier."""
    value = value.rstrip(".,;:!?")
    if promise is Promise.SOME:
        looks_so = len(value) >= 16 and is_random(value, least=16)
    elif is_weak:
        looks_so = is_unlike_words(value)
    elif promise is Promise.PASSWORD:
        looks_so = len(value) >= 4 and (is_quoted or mixes_kinds(value) or not is_worded(value))
    elif value.isdigit():
        looks_so = len(value) >= 12
    elif mixes_kinds(value):
        looks_so = len(value) >= 8 and not is_worded(value) and entropy(value) >= 2.8
    else:
        looks_so = is_random(value, least=12)
    is_chosen = promise is Promise.PASSWORD and mixes_kinds(value) and not is_weak  # `hunter2`, a name elsewhere
    return looks_so and not is_harmless(value, is_quoted=is_quoted or is_chosen)


def is_unlike_words(value: str) -> bool:
    """Whether a value has what words and names of code lack: both cases and digits, and no separators between words."""
    kinds = (any(map(str.isupper, value)), any(map(str.islower, value)), any(map(str.isdigit, value)))
    return len(value) >= 8 and all(kinds) and (len(value) >= 32 or not JOINED.search(value))
