"""Masks secrets in text before anything is written.

Two kinds of rules: tokens that are recognised by their own shape (the prefixes that services give them, as the
gitleaks rule set publishes them), and values that are secret because of the name beside them. What merely looks random
stays: hashes, UUIDs, paths, versions and addresses are what people search for.

Redacting twice gives the same text as redacting once. The caller decides what to redact; this module knows text and
nested JSON only. detect-secrets is asked for a second opinion where a caller wants one (`second_opinion`), since its
plugins are too slow for every transcript.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memory_server.errors import UsageError


@dataclass(frozen=True, slots=True)
class Span:
    """One masked place. `start` and `end` count characters of the text before redaction."""

    start: int
    end: int
    kind: str  # what it was taken for, such as `github-token`


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and where they stood."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that is tried only around its keywords: searching for those is a hundred times as fast.

    The secret is group 1, else the whole match.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: re.Pattern[str]
    reach: int  # how many characters before the keyword a match may start


def _rule(kind: str, keywords: str, pattern: str, *, reach: int = 0, flags: re.RegexFlag = re.NOFLAG) -> Rule:
    return Rule(kind, tuple(keywords.split()), re.compile(pattern, flags), reach)


EDGE = r"(?<![A-Za-z0-9])"
END = r"(?![A-Za-z0-9_-])"

# After the published rules of gitleaks 8 (MIT), narrowed to tokens that carry their own sign.
TOKEN_RULES = (
    _rule("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{50,60}"),
    _rule("jwt", "eyJ", EDGE + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    _rule("aws-access-key", "AKIA ASIA ABIA ACCA A3T", EDGE + r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}" + END),
    _rule("anthropic-key", "sk-ant-", EDGE + r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _rule("openai-key", "sk-", EDGE + r"sk-(?:proj-|svcacct-|admin-|None-|or-v1-|lf-)?(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}"),
    _rule("stripe-key", "_live_ _test_ whsec_", EDGE + r"(?:(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,})"),
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})"),
    _rule("gitlab-token", "glpat- gldt- glrt- glptt- glcbt- glsoat- glimt- glagent- gloas- glft-", EDGE + r"gl(?:pat|dt|rt|ptt|cbt|soat|imt|agent|oas|ft)-[A-Za-z0-9_.=-]{18,}"),
    _rule("slack-token", "xoxb xoxp xoxa xoxr xoxs xoxe xapp-", EDGE + r"(?:xox[abeoprs]-[A-Za-z0-9.-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})"),
    _rule("webhook", "hooks.slack.com/ discord.com/api discordapp.com/api .webhook.office.com", r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}|discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{40,}|[\w-]+\.webhook\.office\.com/webhookb2/[\w@/-]{40,})", reach=60),
    _rule("google-key", "AIza", EDGE + r"AIza[A-Za-z0-9_-]{35}" + END),
    _rule("google-oauth", "ya29. GOCSPX- 1//0", EDGE + r"(?:ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,})"),
    _rule("npm-token", "npm_", EDGE + r"npm_[A-Za-z0-9]{36}" + END),
    _rule("pypi-token", "pypi-AgE", EDGE + r"pypi-AgE[A-Za-z0-9_-]{40,}"),
    _rule("rubygems-key", "rubygems_", EDGE + r"rubygems_[a-f0-9]{48}" + END),
    _rule("cargo-token", "cio", EDGE + r"cio[A-Za-z0-9]{32}" + END),
    _rule("docker-token", "dckr_", EDGE + r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    _rule("huggingface-token", "hf_ api_org_", EDGE + r"(?:hf_[A-Za-z]{30,}|hf_(?=[A-Za-z]*\d)[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,})" + END),
    _rule("sendgrid-key", "SG.", EDGE + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}"),
    _rule("mailgun-key", "key- pubkey-", EDGE + r"(?:pub)?key-[a-f0-9]{32}" + END),
    _rule("mailchimp-key", "-us", EDGE + r"[a-f0-9]{32}-us\d{1,2}" + END, reach=32),
    _rule("brevo-key", "xkeysib- xsmtpsib-", EDGE + r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _rule("postman-key", "PMAK-", EDGE + r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _rule("twilio-key", "SK", EDGE + r"SK[a-f0-9]{32}" + END),
    _rule("telegram-token", ":AA", EDGE + r"\d{8,10}:AA[A-Za-z0-9_-]{32,34}" + END, reach=10),
    _rule("discord-token", ".G", EDGE + r"[MNO][A-Za-z\d_-]{23,26}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,38}", reach=27),
    _rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", EDGE + r"do[por]_v1_[a-f0-9]{64}"),
    _rule("heroku-key", "HRKU-", EDGE + r"HRKU-[A-Za-z0-9_-]{36,}"),
    _rule("cloudflare-key", "v1.0-", EDGE + r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    _rule("shopify-token", "shpat_ shpca_ shppa_ shpss_", EDGE + r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    _rule("square-token", "EAAA sq0", EDGE + r"(?:EAAA[A-Za-z0-9_-]{56,62}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,})" + END),
    _rule("atlassian-token", "ATATT3 ATCTT3 ATBB", EDGE + r"(?:AT[AC]TT3[A-Za-z0-9_=-]{40,}|ATBB[A-Za-z0-9]{28,})"),
    _rule("linear-key", "lin_api_ lin_oauth_", EDGE + r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _rule("notion-token", "secret_ ntn_", EDGE + r"(?:secret_(?=[A-Za-z]*\d)[A-Za-z0-9]{43}|ntn_\d{9,}[A-Za-z0-9]{30,})" + END),
    _rule("figma-token", "figd_", EDGE + r"figd_[A-Za-z0-9_-]{36,}"),
    _rule("new-relic-key", "NRAK- NRAA- NRII- NRJS-", EDGE + r"NR(?:AK|AA|II|JS|IQ)-[A-Za-z0-9_-]{19,}"),
    _rule("grafana-token", "glc_ glsa_ eyJrIjoi", EDGE + r"(?:glc_[A-Za-z0-9+/=]{32,}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|eyJrIjoi[A-Za-z0-9+/=]{60,})"),
    _rule("sentry-token", "sntrys_ sntryu_", EDGE + r"sntry[su]_[A-Za-z0-9+/=_]{40,}"),
    _rule("databricks-token", "dapi", EDGE + r"dapi[a-f0-9]{32}(?:-\d)?" + END),
    _rule("vault-token", "hvs. hvb. hvr.", EDGE + r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _rule("terraform-token", ".atlasv1.", EDGE + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}", reach=14),
    _rule("pulumi-token", "pul-", EDGE + r"pul-[a-f0-9]{40}" + END),
    _rule("planetscale-token", "pscale_", EDGE + r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{32,}"),
    _rule("supabase-key", "sbp_ sb_secret_", EDGE + r"(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    _rule("doppler-token", "dp.", EDGE + r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]+\.)?[A-Za-z0-9]{40,44}"),
    _rule("airtable-token", "pat", EDGE + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _rule("dropbox-token", "sl.", EDGE + r"sl\.[A-Za-z0-9_-]{100,}"),
    _rule("groq-key", "gsk_ xai- r8_ pplx- nvapi- tvly- fw_ csk-", EDGE + r"(?:gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|r8_[A-Za-z0-9]{37}|pplx-[A-Za-z0-9]{40,}|nvapi-[A-Za-z0-9_-]{50,}|tvly-[A-Za-z0-9-]{20,}|fw_[A-Za-z0-9]{22,}|csk-[a-z0-9]{40,})"),
    _rule("easypost-key", "EZAK EZTK", EDGE + r"EZ[AT]K[A-Za-z0-9]{54}"),
    _rule("facebook-token", "EAA", EDGE + r"EAA[MC][A-Za-z0-9]{60,}"),
    _rule("artifactory-token", "AKCp cmVmd", EDGE + r"(?:AKCp[A-Za-z0-9]{69,}|cmVmd[A-Za-z0-9]{59,})"),
    _rule("1password-token", "ops_ey A3-", EDGE + r"(?:ops_eyJ[A-Za-z0-9+/=_-]{100,}|A3-[A-Z0-9]{6}-[A-Z0-9]{5,11}(?:-[A-Z0-9]{5}){3,4})"),
    _rule("azure-storage-key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{40,}={0,2})"),
    _rule("azure-sas", "?sig= &sig=", r"[?&]sig=([A-Za-z0-9%+/]{30,}={0,2})"),
    _rule("azure-secret", "8Q~", EDGE + r"[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{31,34}", reach=3),
)  # fmt: skip

# Passwords that show themselves by the command or the address around them.
CONTEXT_RULES = (
    _rule("private-key", "-----BEGIN", r"-----BEGIN[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?=\s*\S{0,9}[A-Za-z0-9+/=\\\s:,-]{20})(?:[^-]|-(?!----))*(?:-----END[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?"),
    _rule("putty-key", "Private-Lines", r"Private-Lines: \d+\s+((?:[A-Za-z0-9+/=]+\s*)+)"),
    _rule("password-in-url", "://", r"://[^\s:/@\"'<>`$]*:([^\s/@\"'<>`]{2,}(?:[^\s@\"'<>`/][^\s@\"'<>`]{0,80})?)@[A-Za-z0-9\[]"),
    _rule("ssh-password", "sshpass", r"sshpass\s+-p\s*['\"]?([^\s'\"]+)"),
    _rule("curl-user", "curl", r"curl\b[^\n|;&]*?\s(?:-u|--user|--proxy-user)[ =]?['\"]?[^\s:'\"$]+:([^\s'\"]{3,})"),
    _rule("mysql-password", "mysql mariadb", r"(?:mysql|mysqldump|mariadb|mysqladmin)\b[^\n|;&]*?\s-p([^\s'\"$][^\s'\"]{3,})"),
    _rule("redis-password", "redis-cli", r"redis-cli\b[^\n|;&]*?\s-a\s+['\"]?([^\s'\"$][^\s'\"]{3,})"),
    _rule("docker-login", "docker", r"docker\s+login\b[^\n|;&]*?\s-p\s+['\"]?([^\s'\"$][^\s'\"]{3,})"),
    _rule("basic-auth", "asic ", r"(?i:basic)\s+(?=[A-Za-z]*[0-9+/=]|[a-z]+[A-Z])([A-Za-z0-9+/]{12,}={0,2})(?![A-Za-z0-9+/.])", reach=1),
    _rule("bearer-token", "earer ", r"(?i:bearer)\s+(?=[A-Za-z_.~+/-]*\d)([A-Za-z0-9_.~+/-]{16,}={0,2})", reach=1),
    _rule("netrc", "machine", r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S+)"),
    _rule("pgpass", ":5432:", r"^[\w.*-]+:5432:[\w*-]+:[\w*-]+:(\S+)$", reach=80, flags=re.MULTILINE),
)  # fmt: skip

# A name that promises a secret, then an assignment of any language, then the value.
SECRET_NAME = (
    r"(?:pass(?:word|wd|phrase|code)s?|passwort|pwd|contrase[nñ]a|mot_de_passe|secrets?|tokens?|credentials?"
    r"|(?:api|access|auth|private|secret|signing|encryption|master|service|shared|account|client|session|app)[_.-]?keys?"
    r"|apikey|x-api-key|auth(?:orization)?(?:[_-]?(?:token|key))?|bearer|client[_-]?secret|mnemonic|seed[_-]?phrase|_auth(?:Token)?)"
)
ASSIGNED = re.compile(
    rf"(?P<name>[A-Za-z0-9_.$-]*?(?i:{SECRET_NAME})(?:[_-][A-Za-z0-9_-]{{1,20}}|[A-Z][A-Za-z0-9]{{1,20}}|[0-9]{{1,3}})?)"
    r"(?P<quoted>\\?[\"'`]?\]?)[ \t]*(?P<sign>:=|=>|==?=?|:|,(?=\s*\\?[\"'])|\bis\b|\bto\b(?=\s+\\?[\"'`]))[ \t]*"
    r"(?P<open>(?:[bru]?\\?[\"'`]{1,3})?)(?P<value>[^\s\"'`\\,;<>(){}\[\]][^\s\"'`\\]{3,})"
)
NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$-"
LONGEST_NAME = 60
NAME_STEMS = ("passw", "passp", "passc", "pwd", "secret", "token", "credential", "key", "auth", "bearer", "mnemonic", "seed", "contrase", "mot_de")
SHORTEST_TOKEN = 18  # characters; the words below this length are not searched for tokens
FLAGGED = re.compile(
    r"(?<!\S)--?(?:password|passwd|passphrase|token|secret|api-?key|access-?key|secret-?key|auth-?token|client-?secret|private-?key)"
    r"(?:=|\s+)[\"']?(?P<value>[^\s\"'<>${}|-][^\s\"'<>|]{3,})",
    re.IGNORECASE,
)  # fmt: skip
SEED_PHRASE = re.compile(
    r"(?:mnemonic|seed[ _-]?phrase|recovery[ _-]?phrase)[\"'`]?\s*(?:[:=]|is)\s*[\"'`]?((?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8})", re.IGNORECASE
)
COOKIE = re.compile(r"\b(?:set-)?cookie:\s*([^\n\"']{8,})", re.IGNORECASE)
COOKIE_VALUE = re.compile(r"(?P<name>[\w.-]*(?:sess|sid|token|auth|jwt)[\w.-]*)=(?P<value>[^\s;,\"']{8,})", re.IGNORECASE)

MASK = re.compile(r"\[redacted:[a-z0-9-]+\]")
PLAIN_NAMES = re.compile(  # names that hold a stem of the list and are no secret
    r"(?:max|min|num|n|count|total|input|output|prompt|completion|cache\w*|context|budget|used|avg|per|special|pad|eos|bos|unk|stop|next|page|continuation|csrf|design|syntax)[_-]?tokens?(?:[_-]?\w*)?$"
    r"|tokens?[_-]?(?:count|limit|usage|budget|size|length|type|id|ids|name|url|uri|endpoint|file|path|address|vault|service|store|program|ttl|expir\w*|s)$"
    r"|secrets?[_-]?(?:name|file|path|manager|store|ref|version|id|arn|s)$|(?:public|foreign|primary|partition|sort|cache|query|object|map|dict|row|group|unique|hot)[_-]?keys?$"
    r"|keys?[_-]?(?:name|id|path|file|type|size|length|vault|ring|store|code|s)$|pass(?:word|wd|phrase)s?[_-]?(?:hash(?:er|ing)?|file|field|policy|length|reset|strength|input|less|store|manager|path)\w*$"
    r"|auth(?:or|ority|entication|enticated|url|_url|_type|_method|-type|type|method|_file|_sock|_mode|mode)\w*$|\w*(?:[_-]|(?<=[a-z]))(?:name|file|path|url|uri|type|id|ttl|expiry|expires?(?:_?(?:at|in))?|length|format|header|prefix|enabled|required|policy|class|var|env)$",
    re.IGNORECASE,
)  # fmt: skip
STRONG_NAME = re.compile(r"pass(?:word|wd|phrase|code)|passwort|pwd|contrase|mot_de", re.IGNORECASE)
PLACEHOLDER = re.compile(
    r"^(?:x{3,}|\*+|\.{2,}|-+|_+|\d{1,3}|true|false|null|none|nil|undefined|string|number|boolean|bytes?|str|int|any|object|optional\w*|required|secret|password|passwd|token|key|apikey|api[_-]?key|changeme|example|sample|test(?:ing)?|demo|dummy|fake|redacted|removed|hidden|masked|placeholder|todo|here|value|yourself|process|self|this|os|env|config|settings|request|args|options)$"
    r"|^(?:\d{2,5}/|\$|%[A-Z{(]|#\{|\{\{|<|@|&|\.\.\.|your|my[-_]|some[-_]|insert|enter|replace|example|placeholder|env[.:(\[]|process\.|os\.|import\.|self\.|this\.|config\.|settings\.|options\.|args\.|req\.|request\.|ctx\.|c\.|e\.|await|new|get|fetch|read|load|make|create|generate|parse|crypto\.|secrets?\.|vault:|urn:|op://|ref\+|arn:|https?:|file:|/|\./|~/|\[redacted:)"
    r"|(?:example|placeholder|redacted|xxxx|\.\.\.|…|\*\*\*\*|<[a-z_-]+>|your[-_])",
    re.IGNORECASE,
)  # fmt: skip
CODE_LIKE = re.compile(r"[()\[\]{}]|=>|->|::|\.(?:get|set|env|data|value|length|map|trim|encode|toString)\b|^[A-Z][A-Z0-9_]{3,}$|^[A-Za-z]+(?:\.[A-Za-z_]+)+$|\.(?:py|js|ts|go|md|json|ya?ml|toml|txt|sh|env|pem|key|crt|html|rs|java)\b")
HARMLESS = re.compile(
    r"^(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|v?\d+(?:\.\d+)+[\w.-]*|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|\d{4}-\d\d-\d\d\S*|[0-9.,:_-]+[a-z%]{0,3})$", re.IGNORECASE
)  # UUIDs, versions, addresses, dates and plain numbers


class Redactor:
    """Masks every secret it knows, and what the person denies by name.

    `deny` holds words to mask wherever they occur, whatever their case; one that starts with `re:` is a pattern.
    Raises UsageError for a pattern that cannot be compiled.
    """

    def __init__(self, deny: Sequence[str] = ()):
        self._deny = tuple(_denied(word) for word in deny if word.strip())

    def redact(self, text: str) -> Redacted:
        """The text with each secret replaced by `[redacted:KIND]`."""
        spans = _without_overlap([*self._find(text)], text)
        if not spans:
            return Redacted(text, ())
        pieces = []
        position = 0
        for span in spans:
            pieces += [text[position : span.start], f"[redacted:{span.kind}]"]
            position = span.end
        return Redacted("".join([*pieces, text[position:]]), tuple(spans))

    def redact_json(self, value: Any) -> Any:
        """The same JSON value with every string redacted: keys too, and a value also by the name it stands under."""
        if isinstance(value, str):
            return self.redact(value).text
        if isinstance(value, dict):
            return {self.redact(str(key)).text: self._under_name(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.redact_json(item) for item in value]
        return value

    def _under_name(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._under_name(name, item) for item in value]
        if not isinstance(value, str):
            return self.redact_json(value)
        probe = ASSIGNED.fullmatch(f'"{name}": "secretprobe1"'[:-1], 1)
        if probe and is_secret_value(probe["name"], value, is_quoted=True) and not MASK.search(value):
            return "[redacted:secret]"
        return self.redact(value).text

    def _find(self, text: str) -> Iterator[Span]:
        for pattern in self._deny:
            yield from (Span(*match.span(), "denied") for match in pattern.finditer(text) if match[0])
        long_words = "\n".join([word for word in text.split() if len(word) >= SHORTEST_TOKEN])
        for rules, searched in ((TOKEN_RULES, long_words), (CONTEXT_RULES, text)):
            for rule in rules:
                for keyword in rule.keywords:
                    if keyword in searched:
                        yield from _matches(rule, keyword, text)
        yield from _assigned(text)


def second_opinion(text: str) -> tuple[str, ...]:
    """What detect-secrets' plugins call secret in a text, entropy plugins left out since they take every hash for one."""
    from detect_secrets.core.scan import scan_line  # noqa: PLC0415  # imports 40 plugins; most callers never ask
    from detect_secrets.settings import transient_settings  # noqa: PLC0415  # the same

    plugins = [{"name": name} for name in SECOND_OPINION_PLUGINS]
    with transient_settings({"plugins_used": plugins}):
        found = [secret.secret_value for line in text.splitlines() for secret in scan_line(line)]
    return tuple(secret for secret in found if secret)


SECOND_OPINION_PLUGINS = (
    "ArtifactoryDetector", "AWSKeyDetector", "AzureStorageKeyDetector", "BasicAuthDetector", "CloudantDetector",
    "DiscordBotTokenDetector", "GitHubTokenDetector", "GitLabTokenDetector", "IbmCloudIamDetector", "JwtTokenDetector",
    "MailchimpDetector", "NpmDetector", "OpenAIDetector", "PrivateKeyDetector", "PypiTokenDetector", "SendGridDetector",
    "SlackDetector", "SquareOAuthDetector", "StripeDetector", "TelegramBotTokenDetector", "TwilioKeyDetector",
)  # fmt: skip


def is_secret_value(name: str, value: str, *, is_quoted: bool) -> bool:
    """Whether a value that is assigned to a name is a secret rather than code, a placeholder or an identifier."""
    value = value.rstrip(".,;:!?")
    if len(value) < 4 or PLAIN_NAMES.search(name) or PLACEHOLDER.search(value) or HARMLESS.match(value):
        return False
    if STRONG_NAME.search(name):
        return is_quoted and not CODE_LIKE.search(value) or looks_random(value, bits=2.2) or mixes_kinds(value)
    if CODE_LIKE.search(value) and not value.endswith("="):
        return False
    return len(value) >= 8 and looks_random(value, bits=2.8) and mixes_kinds(value)


def mixes_kinds(value: str) -> bool:
    """Whether letters and digits stand together, as they seldom do in words."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def looks_random(value: str, *, bits: float) -> bool:
    """Whether the characters carry at least `bits` of entropy each, a little more than the words of code do."""
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return entropy >= bits and mixes_kinds(value)


def _denied(word: str) -> re.Pattern[str]:
    if not word.startswith("re:"):
        return re.compile(re.escape(word.strip()), re.IGNORECASE)
    try:
        return re.compile(word.removeprefix("re:"))
    except re.error as error:
        raise UsageError(f"the deny pattern `{word}` cannot be compiled: {error}", remedy="Mend it in the settings") from error


def _matches(rule: Rule, keyword: str, text: str) -> Iterator[Span]:
    at = text.find(keyword)
    while at >= 0:
        match = rule.pattern.match(text, at) if not rule.reach else rule.pattern.search(text, max(0, at - rule.reach))
        end = at + len(keyword)
        if match and match.start() <= at:
            group = 1 if match.re.groups else 0
            if match[group] and not _is_placeholder(rule, match[group]):
                yield Span(*match.span(group), rule.kind)
            end = max(end, match.end())
        at = text.find(keyword, end)


def _is_placeholder(rule: Rule, value: str) -> bool:
    """Whether a documented shape stands where a real token would: `sk-xxxx`, `user:password@`, `Bearer $TOKEN`."""
    if rule.kind in NAMED_BY_CONTEXT:
        return bool(PLACEHOLDER.search(value) or CODE_LIKE.search(value)) or value in ("pass", "pw", "pwd", "PASS")
    return len(set(value)) < 8 and rule.kind != "private-key" or "xxxx" in value.lower()


NAMED_BY_CONTEXT = frozenset(
    {"password-in-url", "ssh-password", "curl-user", "mysql-password", "redis-password", "docker-login", "basic-auth"}
    | {"bearer-token", "netrc", "pgpass"}
)


def _assigned(text: str) -> Iterator[Span]:
    lower = text.replace("İ", "I").lower()  # the one letter whose lower case is longer
    position = 0
    for start in sorted(_places(NAME_STEMS, lower)):
        if start < position:
            continue
        before = text[max(0, start - LONGEST_NAME) : start]
        match = ASSIGNED.match(text, start - len(before) + len(before.rstrip(NAME_CHARACTERS)))
        if match:
            position = match.end("name")
            yield from _assigned_value(match)
    for start in _places((" -", "\n-"), text):
        match = FLAGGED.match(text, start + 1)
        if match and not PLACEHOLDER.search(match["value"]) and not CODE_LIKE.search(match["value"]):
            yield Span(*match.span("value"), "secret")
    if "phrase" in lower or "mnemonic" in lower:
        yield from (Span(*match.span(1), "seed-phrase") for match in SEED_PHRASE.finditer(text))
    if "cookie:" in lower:
        for header in COOKIE.finditer(text):
            yield from (Span(*m.span("value"), "cookie") for m in COOKIE_VALUE.finditer(text, *header.span(1)))


def _places(words: Iterable[str], text: str) -> Iterator[int]:
    """Where any of the words begins."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + len(word))


def _assigned_value(match: re.Match[str]) -> Iterator[Span]:
    is_quoted = bool(match["open"])
    if is_secret_value(match["name"], match["value"], is_quoted=is_quoted):
        value = match["value"] if is_quoted else match["value"].rstrip(".,;:!?)")
        yield Span(match.start("value"), match.start("value") + len(value), "secret")


def _without_overlap(spans: Iterable[Span], text: str) -> list[Span]:
    """The spans in order, the longest of those that overlap; what is masked already stays as it is."""
    masks = [match.span() for match in MASK.finditer(text)] if "[redacted:" in text else []
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if any(start < span.end and span.start < end for start, end in masks):
            continue
        if chosen and span.start < chosen[-1].end:
            if span.end > chosen[-1].end:
                chosen[-1] = Span(chosen[-1].start, span.end, chosen[-1].kind)
            continue
        chosen.append(span)
    return chosen
