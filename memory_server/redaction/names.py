"""What a name promises: a password, a token, a key of some sort, or nothing secret.

A name is read as its words: `dbPassword`, `DB_PASSWORD` and `db.password` are the same two. So `monkey`, `tokenizer`
and `author` promise nothing, and neither do `token_count` and `password_file`, whose last word says what they hold.
"""

import re
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise


class Promise(IntEnum):
    """How little it takes for a value beside the name to be masked."""

    NOTHING = 0
    SOME = 1  # `key`, `session`: the value must look drawn by a machine
    SECRET = 2  # `token`, `api_key`: the value must not look like words
    PASSWORD = 3  # people choose these, so they look like anything


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
