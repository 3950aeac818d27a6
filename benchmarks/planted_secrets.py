"""Secrets to plant: every kind and context that redaction must mask entirely.

All are made up by a seeded generator when they are needed, so that this file holds none. Each case is a text (or a
nested value) with one secret in it, as it would stand in a prompt, a command, a file or a tool's answer.
"""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

LOWER_HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "_-"


@dataclass(frozen=True, slots=True)
class Planted:
    """A secret and the value it stands in."""

    kind: str
    value: Any  # text, or JSON
    secret: str


class Maker:
    """Random strings of the shapes that services use."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)  # noqa: S311  # made-up secrets must be the same on every run

    def of(self, alphabet: str, length: int) -> str:
        return "".join(self._random.choice(alphabet) for _ in range(length))

    def alnum(self, length: int) -> str:
        """Letters and digits, at least three digits among them."""
        body = list(self.of(ALNUM, length))
        for place in (1, length // 2, length - 2):
            body[place] = self._random.choice(string.digits)
        return "".join(body)

    def hex(self, length: int) -> str:
        return self.of(LOWER_HEX, length)

    def urlsafe(self, length: int) -> str:
        return "a1" + self.of(URLSAFE, length - 3) + "z"

    def password(self) -> str:
        letters, digits = string.ascii_letters, string.digits
        return self.of(letters, 5) + self.of("!#%^*+", 1) + self.of(digits, 3) + self.of(letters, 3)

    def words(self, count: int) -> str:
        """Words as in a wallet's seed phrase."""
        return " ".join(self.of(string.ascii_lowercase, self._random.randint(3, 8)) for _ in range(count))

    def base64(self, length: int) -> str:
        return base64.b64encode(bytes(self._random.randrange(256) for _ in range(length))).decode()

    def jwt(self) -> str:
        def part(value: dict[str, str]) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        return ".".join([part({"alg": "HS256", "typ": "JWT"}), part({"sub": self.alnum(12)}), self.urlsafe(43)])

    def pem(self, kind: str) -> str:
        body = "\n".join(self.base64(48) for _ in range(6))
        dashes = "-" * 5
        return f"{dashes}BEGIN {kind}PRIVATE KEY{dashes}\n{body}\n{dashes}END {kind}PRIVATE KEY{dashes}"


def plant(seed: int = 7) -> Iterator[Planted]:
    """Every case once."""
    make = Maker(seed)
    for kind, (prefix, body) in TOKENS.items():
        secret = prefix + body(make)
        yield Planted(kind, f"I put {secret} into the settings, does that work?", secret)
    for name, template, body in CONTEXTS:
        secret = body(make)
        yield Planted(name, template.replace("{}", secret), secret)
    yield from _nest(make)


# Tokens that show themselves, whatever stands around them: prefix and body.
TOKENS: dict[str, tuple[str, Callable[[Maker], str]]] = {
    "aws access key": ("AKIA", lambda m: m.of(string.ascii_uppercase + "234567", 16)),
    "aws session key": ("ASIA", lambda m: m.of(string.ascii_uppercase + "234567", 16)),
    "anthropic": ("sk-ant-api03-", lambda m: m.urlsafe(93) + "AA"),
    "openai": ("sk-", lambda m: m.alnum(48)),
    "openai project": ("sk-proj-", lambda m: m.urlsafe(80)),
    "github personal": ("ghp_", lambda m: m.alnum(36)),
    "github oauth": ("gho_", lambda m: m.alnum(36)),
    "github server": ("ghs_", lambda m: m.alnum(36)),
    "github fine-grained": ("github_pat_", lambda m: m.alnum(22) + "_" + m.alnum(59)),
    "gitlab personal": ("glpat-", lambda m: m.urlsafe(20)),
    "gitlab runner": ("glrt-", lambda m: m.urlsafe(20)),
    "slack bot": ("xoxb-", lambda m: "-".join([m.of(string.digits, 12), m.of(string.digits, 12), m.alnum(24)])),
    "slack app": ("xapp-1-", lambda m: "-".join([m.alnum(11), m.of(string.digits, 12), m.hex(64)])),
    "slack webhook": (
        "https://hooks.slack.com/services/",
        lambda m: "/".join(["T" + m.alnum(10), "B" + m.alnum(10), m.alnum(24)]),
    ),
    "discord webhook": (
        "https://discord.com/api/webhooks/",
        lambda m: m.of("123456789", 18) + "/" + m.urlsafe(68),
    ),
    "stripe live": ("sk_live_", lambda m: m.alnum(24)),
    "stripe restricted": ("rk_live_", lambda m: m.alnum(24)),
    "stripe webhook": ("whsec_", lambda m: m.alnum(32)),
    "google api": ("AIza", lambda m: m.urlsafe(35)),
    "google oauth secret": ("GOCSPX-", lambda m: m.urlsafe(28)),
    "google access": ("ya29.", lambda m: m.urlsafe(60)),
    "npm": ("npm_", lambda m: m.alnum(36)),
    "pypi": ("pypi-AgEIcHlwaS5vcmc", lambda m: m.urlsafe(80)),
    "rubygems": ("rubygems_", lambda m: m.hex(48)),
    "docker": ("dckr_pat_", lambda m: m.urlsafe(27)),
    "hugging face": ("hf_", lambda m: m.alnum(34)),
    "sendgrid": ("SG.", lambda m: m.urlsafe(22) + "." + m.urlsafe(43)),
    "mailgun": ("key-", lambda m: m.hex(32)),
    "mailchimp": ("", lambda m: m.hex(32) + "-us14"),
    "twilio": ("SK", lambda m: m.hex(32)),
    "telegram": ("", lambda m: m.of("123456789", 9) + ":AA" + m.urlsafe(33)),
    "digitalocean": ("dop_v1_", lambda m: m.hex(64)),
    "shopify": ("shpat_", lambda m: m.hex(32)),
    "atlassian": ("ATATT3", lambda m: m.urlsafe(180)),
    "linear": ("lin_api_", lambda m: m.alnum(40)),
    "notion": ("ntn_", lambda m: m.of("123456789", 11) + m.alnum(35)),
    "figma": ("figd_", lambda m: m.urlsafe(40)),
    "new relic": ("NRAK-", lambda m: m.of(string.ascii_uppercase + string.digits, 27)),
    "grafana": ("glsa_", lambda m: m.alnum(32) + "_" + m.hex(8)),
    "sentry": ("sntrys_", lambda m: m.alnum(60)),
    "databricks": ("dapi", lambda m: m.hex(32)),
    "vault": ("hvs.", lambda m: m.urlsafe(90)),
    "terraform": ("", lambda m: m.alnum(14) + ".atlasv1." + m.urlsafe(67)),
    "pulumi": ("pul-", lambda m: m.hex(40)),
    "supabase": ("sbp_", lambda m: m.hex(40)),
    "doppler": ("dp.pt.", lambda m: m.alnum(43)),
    "groq": ("gsk_", lambda m: m.alnum(52)),
    "xai": ("xai-", lambda m: m.alnum(80)),
    "replicate": ("r8_", lambda m: m.alnum(37)),
    "perplexity": ("pplx-", lambda m: m.alnum(48)),
    "age key": ("AGE-SECRET-KEY-1", lambda m: m.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    "jwt": ("", lambda m: m.jwt()),
    "rsa key": ("", lambda m: m.pem("RSA ")),
    "ec key": ("", lambda m: m.pem("EC ")),
    "openssh key": ("", lambda m: m.pem("OPENSSH ")),
    "pkcs8 key": ("", lambda m: m.pem("")),
}

# Values that are secret by what stands around them.
CONTEXTS: tuple[tuple[str, str, Callable[[Maker], str]], ...] = (
    ("env file", "DB_HOST=localhost\nDB_PASSWORD={}\nDB_NAME=app", lambda m: m.password()),
    ("env file quoted", 'export API_KEY="{}"', lambda m: m.alnum(32)),
    ("env aws secret", "AWS_SECRET_ACCESS_KEY={}", lambda m: m.base64(30)),
    ("yaml", "database:\n  password: '{}'\n  port: 5432", lambda m: m.password()),
    ("yaml unquoted", "smtp_password: {}", lambda m: m.password()),
    ("toml", 'client_secret = "{}"', lambda m: m.alnum(40)),
    ("python", 'SECRET_KEY = "{}"', lambda m: m.urlsafe(50)),
    ("python keyword", 'connect(host="db", password="{}")', lambda m: m.password()),
    ("javascript", "const authToken = '{}';", lambda m: m.alnum(40)),
    ("go", 'apiKey := "{}"', lambda m: m.hex(32)),
    ("ruby hash", ":access_token => '{}',", lambda m: m.alnum(40)),
    ("json text", '{"username": "amy", "password": "{}"}', lambda m: m.password()),
    ("escaped json", '"body": "{\\"api_key\\": \\"{}\\"}"', lambda m: m.alnum(32)),
    ("prose", "the admin password is `{}`, please note it", lambda m: m.password()),
    ("prose plain", "my password is {} and it does not work", lambda m: m.password()),
    ("url", "postgres://app:{}@db.internal:5432/app", lambda m: m.alnum(14)),
    ("url redis", "REDIS_URL=redis://:{}@cache:6379/0", lambda m: m.alnum(20)),
    ("url git", "git clone https://amy:{}@git.example.org/amy/app.git", lambda m: m.alnum(30)),
    ("bearer", 'curl -H "Authorization: Bearer {}" https://api.example.org', lambda m: m.urlsafe(40)),
    ("basic", "Authorization: Basic {}", lambda m: m.base64(24)),
    ("header", "curl -H 'X-Api-Key: {}' https://api.example.org", lambda m: m.alnum(32)),
    ("curl user", "curl -u admin:{} https://ci.example.org/job", lambda m: m.alnum(16)),
    ("sshpass", "sshpass -p '{}' ssh root@10.0.0.5", lambda m: m.password()),
    ("mysql", "mysql -h db -u root -p{} app", lambda m: m.alnum(14)),
    ("option", "deploy --token {} --env prod", lambda m: m.alnum(32)),
    ("option equals", "vault login --password={}", lambda m: m.password()),
    ("docker login", "docker login -u amy -p {} registry.example.org", lambda m: m.alnum(20)),
    ("redis-cli", "redis-cli -h cache -a {} ping", lambda m: m.alnum(20)),
    ("netrc", "machine api.example.org login amy password {}", lambda m: m.alnum(18)),
    ("npmrc", "//npm.example.org/:_authToken={}", lambda m: m.alnum(36)),
    ("azure storage", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};", lambda m: m.base64(64)),
    ("azure sas", "https://x.blob.core.windows.net/c?sv=2022&sig={}", lambda m: m.of(ALNUM, 42) + "%3D"),
    ("cookie", "Set-Cookie: session_id={}; HttpOnly; Path=/", lambda m: m.alnum(32)),
    ("seed phrase", 'mnemonic: "{}"', lambda m: m.words(12)),
    ("encryption key", "ENCRYPTION_KEY={}", lambda m: m.hex(64)),
    ("wallet key", "PRIVATE_KEY=0x{}", lambda m: m.hex(64)),
    ("diff", "-  token: {}\n+  token: ${TOKEN}", lambda m: m.alnum(30)),
    ("log line", "2026-02-01 12:00:00 DEBUG auth: access_token={} expires_in=3600", lambda m: m.urlsafe(48)),
    ("xml", "<server><username>ci</username><password>{}</password></server>", lambda m: m.password()),
    ("ini", "[smtp]\nuser = amy\npassword = {}\n", lambda m: m.password()),
    ("sql", "CREATE USER 'app'@'%' IDENTIFIED BY '{}';", lambda m: m.password()),
    ("sql role", "ALTER ROLE app WITH PASSWORD '{}';", lambda m: m.password()),
    ("docker env", "docker run -e MYSQL_ROOT_PASSWORD={} -p 3306:3306 mysql:8", lambda m: m.password()),
    ("form", "curl --data 'user=amy&password={}&remember=1' https://example.org/login", lambda m: m.alnum(14)),
    ("query string", "GET /feed?user=amy&api_key={} HTTP/1.1", lambda m: m.alnum(32)),
    ("kubernetes", "kubectl create secret generic db --from-literal=password={}", lambda m: m.password()),
    ("connection string", "Server=db;Database=app;User Id=sa;Password={};Encrypt=true", lambda m: m.password()),
    ("chpasswd", "echo 'root:{}' | chpasswd", lambda m: m.password()),
    ("openssl", "openssl rsa -in k.pem -passin pass:{}", lambda m: m.password()),
    ("htpasswd", "htpasswd -b .htpasswd amy {}", lambda m: m.password()),
    ("powershell", "$env:AZURE_CLIENT_SECRET = '{}'", lambda m: m.alnum(8) + "~" + m.alnum(30)),
    ("fish", "set -x OPENROUTER_KEY {}", lambda m: "sk-or-v1-" + m.hex(64)),
    ("table", "| field | value |\n|---|---|\n| password | {} |", lambda m: m.password()),
    ("told", "here is the api key: {}", lambda m: m.alnum(32)),
    ("told token", "use this token {} for the upload", lambda m: m.alnum(40)),
    ("set to", "please set GITHUB_TOKEN to {} in the workflow", lambda m: m.alnum(40)),
    ("quoted letters only", "password: 'CorrectHorse{}Staple'", lambda m: "Battery" + m.of(string.ascii_lowercase, 2)),
    ("pin in prose", "the wifi password is {}", lambda m: m.of(string.digits, 3) + m.of(string.ascii_lowercase, 6)),
    ("aws credentials", "[default]\naws_secret_access_key = {}", lambda m: m.base64(30)),
    ("terraform", 'variable "db_password" {\n  default = "{}"\n}', lambda m: m.password()),
    ("github login", "echo {} | gh auth login --with-token", lambda m: "gho_" + m.alnum(36)),
    ("java", 'System.setProperty("db.password", "{}");', lambda m: m.password()),
    ("spring", "spring.datasource.password={}", lambda m: m.password()),
    ("php", "define('AUTH_KEY', '{}');", lambda m: m.urlsafe(50)),
    ("signed url", "https://b.s3.amazonaws.com/x?X-Amz-Signature={}&X-Amz-Expires=60", lambda m: m.hex(64)),
    ("ssh url", "rsync://backup:{}@nas.local/share", lambda m: m.alnum(12)),
    ("proxy", "https_proxy=http://amy:{}@proxy.corp:8080", lambda m: m.alnum(12)),
    ("french", "mot de passe : {}", lambda m: m.password()),
    ("spanish", "contraseña: {}", lambda m: m.password()),
    ("chinese", "密码：{}", lambda m: m.password()),
    ("german", "Das Passwort: {} bitte merken", lambda m: m.password()),
)


def _nest(make: Maker) -> Iterator[Planted]:
    """Secrets in the arguments of tools and in structured results."""
    secret = make.password()
    yield Planted("nested value", {"env": {"name": "prod", "vars": [{"password": secret}]}}, secret)
    secret = make.alnum(32)
    yield Planted("nested key name", {"config": {"apiKey": secret}}, secret)
    secret = "ghp_" + make.alnum(36)
    yield Planted("nested in a list", {"args": ["--verbose", ["clone", f"https://{secret}@github.com/a/b"]]}, secret)
    secret = make.alnum(40)
    yield Planted("json in json", {"body": json.dumps({"auth": {"refresh_token": secret}})}, secret)
    secret = make.pem("RSA ")
    yield Planted("key in a write", {"file_path": "id_rsa", "content": secret + "\n"}, secret)
    secret = make.password()
    yield Planted("command", {"command": f"PGPASSWORD={secret} psql -h db", "description": "Open the database"}, secret)
