"""What redaction takes for a secret: the shapes of tokens, the names that promise a secret, and what only looks so.

Data for `redaction.py`. The shapes follow the rules that gitleaks 8 publishes (MIT), narrowed to tokens that carry
their own sign, so that a hash or a UUID is never one.
"""

import re
from dataclasses import dataclass


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
    _rule(
        "openai-key", "sk-", EDGE + r"sk-(?:proj-|svcacct-|admin-|None-|or-v1-|lf-)?(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}"
    ),
    _rule(
        "stripe-key",
        "_live_ _test_ whsec_",
        EDGE + r"(?:(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,})",
        reach=2,
    ),
    _rule(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})",
    ),
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glimt- glagent- gloas- glft-",
        EDGE + r"gl(?:pat|dt|rt|ptt|cbt|soat|imt|agent|oas|ft)-[A-Za-z0-9_.=-]{18,}",
    ),
    _rule(
        "slack-token",
        "xoxb xoxp xoxa xoxr xoxs xoxe xapp-",
        EDGE + r"(?:xox[abeoprs]-[A-Za-z0-9.-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})",
    ),
    _rule(
        "webhook",
        "hooks.slack.com/ discord.com/api discordapp.com/api .webhook.office.com",
        r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}"
        r"|discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{40,}"
        r"|[\w-]+\.webhook\.office\.com/webhookb2/[\w@/-]{40,})",
        reach=60,
    ),
    _rule("google-key", "AIza", EDGE + r"AIza[A-Za-z0-9_-]{35}" + END),
    _rule(
        "google-oauth",
        "ya29. GOCSPX- 1//0",
        EDGE + r"(?:ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,})",
    ),
    _rule("npm-token", "npm_", EDGE + r"npm_[A-Za-z0-9]{36}" + END),
    _rule("pypi-token", "pypi-AgE", EDGE + r"pypi-AgE[A-Za-z0-9_-]{40,}"),
    _rule("rubygems-key", "rubygems_", EDGE + r"rubygems_[a-f0-9]{48}" + END),
    _rule("cargo-token", "cio", EDGE + r"cio[A-Za-z0-9]{32}" + END),
    _rule("docker-token", "dckr_", EDGE + r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    _rule(
        "huggingface-token",
        "hf_ api_org_",
        EDGE + r"(?:hf_[A-Za-z]{30,}|hf_(?=[A-Za-z]*\d)[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,})" + END,
    ),
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
    _rule(
        "square-token", "EAAA sq0", EDGE + r"(?:EAAA[A-Za-z0-9_-]{56,62}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,})" + END
    ),
    _rule("atlassian-token", "ATATT3 ATCTT3 ATBB", EDGE + r"(?:AT[AC]TT3[A-Za-z0-9_=-]{40,}|ATBB[A-Za-z0-9]{28,})"),
    _rule("linear-key", "lin_api_ lin_oauth_", EDGE + r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _rule(
        "notion-token",
        "secret_ ntn_",
        EDGE + r"(?:secret_(?=[A-Za-z]*\d)[A-Za-z0-9]{43}|ntn_\d{9,}[A-Za-z0-9]{30,})" + END,
    ),
    _rule("figma-token", "figd_", EDGE + r"figd_[A-Za-z0-9_-]{36,}"),
    _rule("new-relic-key", "NRAK- NRAA- NRII- NRJS-", EDGE + r"NR(?:AK|AA|II|JS|IQ)-[A-Za-z0-9_-]{19,}"),
    _rule(
        "grafana-token",
        "glc_ glsa_ eyJrIjoi",
        EDGE + r"(?:glc_[A-Za-z0-9+/=]{32,}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|eyJrIjoi[A-Za-z0-9+/=]{60,})",
    ),
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
    _rule(
        "groq-key",
        "gsk_ xai- r8_ pplx- nvapi- tvly- fw_ csk-",
        EDGE + r"(?:gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|r8_[A-Za-z0-9]{37}|pplx-[A-Za-z0-9]{40,}"
        r"|nvapi-[A-Za-z0-9_-]{50,}|tvly-[A-Za-z0-9-]{20,}|fw_[A-Za-z0-9]{22,}|csk-[a-z0-9]{40,})",
    ),
    _rule("easypost-key", "EZAK EZTK", EDGE + r"EZ[AT]K[A-Za-z0-9]{54}"),
    _rule("facebook-token", "EAA", EDGE + r"EAA[MC][A-Za-z0-9]{60,}"),
    _rule("artifactory-token", "AKCp cmVmd", EDGE + r"(?:AKCp[A-Za-z0-9]{69,}|cmVmd[A-Za-z0-9]{59,})"),
    _rule(
        "1password-token",
        "ops_ey A3-",
        EDGE + r"(?:ops_eyJ[A-Za-z0-9+/=_-]{100,}|A3-[A-Z0-9]{6}-[A-Z0-9]{5,11}(?:-[A-Z0-9]{5}){3,4})",
    ),
    _rule("azure-storage-key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{40,}={0,2})"),
    _rule("azure-sas", "?sig= &sig=", r"[?&]sig=([A-Za-z0-9%+/]{30,}={0,2})"),
    _rule("azure-secret", "8Q~", EDGE + r"[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{31,34}", reach=3),
)

# Passwords that show themselves by the command or the address around them.
CONTEXT_RULES = (
    _rule(
        "private-key",
        "-----BEGIN",
        r"-----BEGIN[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----)[\s\S]){24,16000}-----END[A-"
        r"Z0-9 ]*PRIVATE KEY"
        r"(?: BLOCK)?-----|(?:(?:\s|\\[nrt])*[A-Za-z0-9+/=]{24,})+)",
    ),
    _rule("putty-key", "Private-Lines", r"Private-Lines: \d+\s+((?:[A-Za-z0-9+/=]+\s*)+)"),
    _rule(
        "password-in-url",
        "://",
        r"://[^\s:/@\"'<>`$]*:([^\s/@\"'<>`]{2,}(?:[^\s@\"'<>`/][^\s@\"'<>`]{0,80})?)@[A-Za-z0-9\[]",
    ),
    _rule("signed-url", "-Signature=", r"-Signature=([a-fA-F0-9]{40,})"),
    _rule(
        "sql-password",
        "IDENTIFIED identified",
        r"(?i:identified\s+(?:with\s+\S+\s+)?by)\s+(?:password\s+)?['\"]([^'\"\s]{4,})['\"]",
    ),
    _rule("chpasswd", "chpasswd", r"['\"]?[\w.-]+:([^\s'\":]{4,})['\"]?\s*\|\s*(?:sudo\s+)?chpasswd", reach=120),
    _rule("openssl-password", "pass:", r"(?<=\s)pass:([^\s'\"$]{4,})"),
    _rule("htpasswd", "htpasswd", r"htpasswd\s+-[A-Za-z]*b[A-Za-z]*\s+\S+\s+\S+\s+['\"]?([^\s'\"$]{4,})"),
    _rule(
        "terraform-default",
        "variable",
        r"variable\s+\"[^\"]*(?:password|secret|token"
        r"|key)[^\"]*\"\s*\{[^}]*?default\s*=\s*\"([^\"\s]{6,})\"",
    ),
    _rule("ssh-password", "sshpass", r"sshpass\s+-p\s*['\"]?([^\s'\"]+)"),
    _rule("curl-user", "curl", r"curl\b[^\n|;&]*?\s(?:-u|--user|--proxy-user)[ =]?['\"]?[^\s:'\"$]+:([^\s'\"]{3,})"),
    _rule(
        "mysql-password",
        "mysql mariadb",
        r"(?:mysql|mysqldump|mariadb|mysqladmin)\b[^\n|;&]*?\s-p([^\s'\"$][^\s'\"]{3,})",
    ),
    _rule("redis-password", "redis-cli", r"redis-cli\b[^\n|;&]*?\s-a\s+['\"]?([^\s'\"$][^\s'\"]{3,})"),
    _rule("docker-login", "docker", r"docker\s+login\b[^\n|;&]*?\s-p\s+['\"]?([^\s'\"$][^\s'\"]{3,})"),
    _rule(
        "basic-auth",
        "asic",
        r"(?i:basic)\s+(?=[A-Za-z]*[0-9+/=]|[a-z]+[A-Z])([A-Za-z0-9+/]{12,}={0,2})(?![A-Za-z0-9+/.])",
        reach=1,
    ),
    _rule("bearer-token", "earer", r"(?i:bearer)\s+(?=[A-Za-z_.~+/-]*\d)([A-Za-z0-9_.~+/-]{16,}={0,2})", reach=1),
    _rule("netrc", "machine", r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S+)"),
    _rule("pgpass", ":5432:", r"^[\w.*-]+:5432:[\w*-]+:[\w*-]+:(\S+)$", reach=80, flags=re.MULTILINE),
)

# A name that promises a secret, then an assignment of any language, then the value.
VALUE_NAME = (
    r"(?:pass(?:word|wd|phrase|code)s?|passwort|pwd|contrase[nñ]a|mot[ _]de[ _]passe|密码|口令|密钥|パスワード"
    r"|пароль|비밀번호"
    r"|secrets?|tokens?|credentials?"
    r"|(?:api|access|auth|private|secret|signing|encryption|master|service|shared|account|client"
    r"|session|app)[ _.-]?keys?"
    r"|apikey|x-api-key|auth(?:orization)?(?:[_-]?(?:token|key))?|bearer|client[_-]?secret|mnemonic"
    r"|seed[_-]?phrase|_auth(?:Token)?)"
)
ASSIGNED = re.compile(
    rf"(?P<name>[A-Za-z0-9_.$-]*?(?i:{VALUE_NAME})(?:[_-][A-Za-z0-9_-]{{1,20}}"
    rf"|[A-Z][A-Za-z0-9]{{1,20}}|[0-9]{{1,3}})?)"
    r"(?P<quoted>\\?[\"'`]?\]?)[ \t]*(?P<sign>:=|=>|==?=?|[:：]|,(?=\s*\\?[\"'])|\bis\b|>|\||\bto"
    r"\b|(?<=[ \t]))[ \t]*"
    r"(?P<open>(?:[bru]?\\?[\"'`]{1,3})?)(?P<value>[^\s\"'`\\,;<>(){}\[\]][^\s\"'`\\]{3,})"
)
WEAK_SIGNS = frozenset({">", "|", "to", ",", ""})  # they stand between words too, so the value must look the part
NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$-"
LONGEST_NAME = 60
NAME_STEMS = (
    "passw",
    "passp",
    "passc",
    "pwd",
    "secret",
    "token",
    "credential",
    "api key",
    "key",
    "auth",
    "bearer",
    "mnemonic",
    "seed",
    "contrase",
    "mot de",
    "mot_de",
    "密码",
    "口令",
    "密钥",
    "パスワード",
    "пароль",
    "비밀번호",
)
FLAGGED = re.compile(
    r"(?<!\S)--?(?:password|passwd|passphrase|token|secret|api-?key|access-?key|secret-?key"
    r"|auth-?token|client-?secret|private-?key)"
    r"(?:=|\s+)[\"']?(?P<value>[^\s\"'<>${}|-][^\s\"'<>|]{3,})",
    re.IGNORECASE,
)
SEED_PHRASE = re.compile(
    r"(?:mnemonic|seed[ _-]?phrase|recovery[ _-]?phrase)[\"'`]?\s*(?:[:=]"
    r"|is)\s*[\"'`]?((?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8})",
    re.IGNORECASE,
)
COOKIE = re.compile(r"\b(?:set-)?cookie:\s*([^\n\"']{8,})", re.IGNORECASE)
COOKIE_VALUE = re.compile(
    r"(?P<name>[\w.-]*(?:sess|sid|token|auth|jwt)[\w.-]*)=(?P<value>[^\s;,\"']{8,})", re.IGNORECASE
)

MASK = re.compile(r"\[redacted:[a-z0-9-]+\]")
PLAIN_NAMES = re.compile(  # names that hold a stem of the list and are no secret
    r"(?:max|min|num|n|count|total|input|output|prompt|completion|cache\w*|context|budget|used|avg"
    r"|per|special|pad|eos|bos|unk|stop|next|page|continuation|csrf|design"
    r"|syntax)[_-]?tokens?(?:[_-]?\w*)?$"
    r"|tokens?[_-]?(?:count|limit|usage|budget|size|length|type|id|ids|name|url|uri|endpoint|file"
    r"|path|address|vault|service|store|program|ttl|expir\w*|s)$"
    r"|secrets?[_-]?(?:name|file|path|manager|store|ref|version|id|arn|s)$|(?:public|foreign|primary"
    r"|partition|sort|cache|query|object|map|dict|row|group|unique|hot)[_-]?keys?$"
    r"|keys?[_-]?(?:name|id|path|file|type|size|length|vault|ring|store|code|s)$|pass(?:word|wd"
    r"|phrase)s?[_-]?(?:hash(?:er|ing)?|file|field|policy|length|reset|strength|input|less|store"
    r"|manager|path)\w*$"
    r"|auth[_-]?(?!token|key|secret|pass)[a-z]+$|auth(?:or|ority|entication|enticated|url|_url|_type"
    r"|_method|-type|type|method|_file|_sock|_mode|mode)\w*$|\w*(?:[_-]|(?<=[a-z]))(?:name|file|path"
    r"|url|uri|type|id|ttl|expiry|expires?(?:_?(?:at|in))?|length|format|header|prefix|enabled"
    r"|required|policy|class|var|env)$",
    re.IGNORECASE,
)
STRONG_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)|passwort|pwd|contrase|mot.de|密码|口令|パスワード|пароль|비밀번호", re.IGNORECASE
)
PLACEHOLDER = re.compile(
    r"^(?:x{3,}|\*+|\.{2,}|-+|_+|\d{1,3}|true|false|null|none|nil|undefined|string|number|boolean"
    r"|bytes?|str|int|any|object|optional\w*|required|secret|password|passwd|token|key|apikey"
    r"|api[_-]?key|changeme|example|sample|test(?:ing)?|demo|dummy|fake|redacted|removed|hidden"
    r"|masked|placeholder|todo|here|value|yourself|process|self|this|os|env|config|settings|request"
    r"|args|options)$"
    r"|^(?:\d{2,5}/|\$|%[A-Z{(]|#\{|\{\{|<|@|&|\.\.\.|your|my[-_]|some[-_]|insert|enter|replace"
    r"|example|placeholder|env[.:(\[]|process\.|os\.|import\.|self\.|this\.|config\.|settings"
    r"\.|options\.|args\.|req\.|request\.|ctx\.|c\.|e\.|new |await|get[A-Z(]|fetch|read|load|make"
    r"|create|generate|parse|crypto\.|secrets?\.|vault:|urn:|op://|ref\+|arn:|https?:|file:|\./|~/"
    r"|\[redacted:)"
    r"|(?:example|placeholder|redacted|xxxx|\.\.\.|…|\*\*\*\*|<[a-z_-]+>|your[-_])",
    re.IGNORECASE,
)
CODE_LIKE = re.compile(
    r"[()\[\]{}]|<[A-Za-z]|=>|->|::|\.(?:get|set|env|data|value|length|map|trim|encode|toString)"
    r"\b|^[A-Z][A-Z0-9_]{3,}$|^[A-Za-z]+(?:\.[A-Za-z_]+)+$|\.(?:py|js|ts|go|md|json|ya?ml|toml|txt|sh"
    r"|env|pem|key|crt|html|rs|java)\b"
)
WORDS_JOINED = re.compile(r"[a-z]{2}[-_/.:][A-Za-z]{2}|^[A-Za-z]+\d{1,3}$")
PATH = re.compile(r"^(?=[^A-Z]*$|[^/]*/[^/]*/|.*\.)/(?:[\w.@-]+/)*[\w.@-]*$")
TYPE_NAME = re.compile(r"^(?=\D*\d?\d?\D*$)[A-Z]?[a-z]+(?:\d{1,2}|[A-Z][a-z]{2,})+$")
NAMES_ITSELF = re.compile(r"^[a-z_.-]*(?:passw|secret|token|key)[a-z_.-]*$", re.IGNORECASE)
HARMLESS = re.compile(
    r"^(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|v?\d+(?:\.\d+)+[\w.-]*"
    r"|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|\d{4}-\d\d-\d\d\S*|[0-9.,:_-]+[a-z%]{0,3})$",
    re.IGNORECASE,
)  # UUIDs, versions, addresses, dates and plain numbers

# Rules whose group is a plain value: what is a placeholder elsewhere is one there too.
NAMED_BY_CONTEXT = frozenset(
    {"password-in-url", "ssh-password", "curl-user", "mysql-password", "redis-password", "docker-login", "basic-auth"}
    | {
        "bearer-token",
        "netrc",
        "pgpass",
        "sql-password",
        "chpasswd",
        "openssl-password",
        "htpasswd",
        "terraform-default",
    }
)
