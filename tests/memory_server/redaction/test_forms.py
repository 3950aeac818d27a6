"""Forms in which people paste secrets, and what only looks like them."""

import base64

import pytest

from benchmarks.intake import shows
from benchmarks.planted_secrets import Maker
from memory_server.redaction import Redactor

MAKE = Maker(23)
PASSWORD = "CjYLQ+018Sbq"
RANDOM = MAKE.alnum(32)
HEX = MAKE.hex(64)
TOKEN = "ghp_" + MAKE.alnum(36)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"ADMIN_TOKEN={RANDOM}", RANDOM),
        (f"export AWS_SESSION_TOKEN={RANDOM}", RANDOM),
        (f"SMTP_PASS={PASSWORD}", PASSWORD),
        (f"password\u00a0=\u00a0{PASSWORD}", PASSWORD),  # copied from a page
        (f"SMTP_PASS\u3000=\u202f{PASSWORD}", PASSWORD),
        (f"GH_PAT={RANDOM}", RANDOM),
        (f"DEPLOY_KEY={RANDOM}", RANDOM),
        (f"SUPABASE_SERVICE_ROLE_KEY={RANDOM}", RANDOM),
        (f"HMAC_KEY={HEX}", HEX),
        (f"API_KEYS={RANDOM}", RANDOM),
        (f"PGPASSWORD={PASSWORD} psql", PASSWORD),
        (f"HEROKU_API_KEY=0b1c2d3e-{HEX[:4]}-4a5b-8c9d-{HEX[:12]}", HEX[:12]),
        (f"Authorization: Token {HEX}", HEX),
        (f"Authorization: ApiKey {RANDOM}", RANDOM),
        (f"Authorization: {RANDOM}", RANDOM),
        (f"password: |\n  {PASSWORD}\nhost: db", PASSWORD),
        (f"api_token: >-\n    {RANDOM}\n", RANDOM),
        (f"tokens:\n  - {RANDOM}\n  - {HEX}\n", HEX),
        (f'"api_keys": ["{RANDOM}", "{HEX}"]', HEX),
        (f"password: !!str {PASSWORD}", PASSWORD),
        (f"auth: {{user: ci, password: {PASSWORD}}}", PASSWORD),
        (f"- name: DB_PASSWORD\n  value: {PASSWORD}", PASSWORD),
        (f'<add key="ApiKey" value="{RANDOM}" />', RANDOM),
        (f'{{"kty":"EC","crv":"P-256","d":"{RANDOM}"}}', RANDOM),
        (f"https://example.org/login?next=%2Fcb%3Ftoken%3D{RANDOM}", RANDOM),
        (f"The password for the staging db is {PASSWORD}", PASSWORD),
        (f"password for prod: {PASSWORD}", PASSWORD),
        (f"Here is the API key:\n{RANDOM}\n", RANDOM),
        (f"The token:\n```\n{RANDOM}\n```\n", RANDOM),
        (f'TOKEN="${{TOKEN:-{RANDOM}}}"', RANDOM),
        (f"use \x1b[1m{TOKEN[:12]}\x1b[0m{TOKEN[12:]} here", TOKEN[12:]),
        (f"use {TOKEN[:12]}\u200b{TOKEN[12:]} here", TOKEN[12:]),
        *(
            (f"use {TOKEN[:12]}{mark}{TOKEN[12:]} here", TOKEN[12:])
            for mark in ("\u034f", "\u202e", "\ufe0f", "\U000e0041", "\x08", "\x7f", "\x9b0m", "\x1b(B", r"\u034f")
        ),
        *(
            (f"use {TOKEN.replace('_', escape)} here", TOKEN[4:])
            for escape in ("%5F", "%5f", r"\x5f", r"\u005f", r"\\u005F")
        ),
        (f"https://x.org/?next={TOKEN[:-1]}%{ord(TOKEN[-1]):x}%26n=1", TOKEN[4:-1]),
        (f"postgres%3A%2F%2Fuser%3A{PASSWORD}%40db.host%2Fx", PASSWORD),
        (f"https://x.org/?token\\u003d{RANDOM}\\u0026n=1", RANDOM),
        (f"use {TOKEN[:20]}\n{TOKEN[20:]} here", TOKEN[20:]),
        (f"use {TOKEN[:20]}\\\n  {TOKEN[20:]} here", TOKEN[20:]),
        (f"data:\n  config: {base64.b64encode(TOKEN.encode()).decode()}", base64.b64encode(TOKEN.encode()).decode()),
        (f"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt\n{RANDOM * 2}", RANDOM),
        (f"{{\\\\\\\"password\\\\\\\": \\\\\\\"{PASSWORD}\\\\\\\"}}", PASSWORD),
        (f"Client('https://{HEX[:32]}@o12.ingest.sentry.io/42')", HEX[:32]),
        ("token=" + RANDOM * 40, RANDOM * 40),
    ],
)  # fmt: skip
def test_a_secret_is_masked_in_the_form_it_is_pasted_in(text: str, secret: str) -> None:
    assert not shows(Redactor().redact(text).text, secret)


@pytest.mark.parametrize(
    "text",
    [
        "API_KEY=YOUR_API_KEY",
        "password: ${TOKEN}",
        'api_key = os.environ["X_TOKEN"]',
        "const token = process.env.TOKEN;",
        "token: ${{ secrets.NPM_TOKEN }}",
        "key: cache-key-9e107d9d372bb6826bd81d3542a419d6",
        '"integrity": "sha512-kV/tzYhbUGkDSSbbwG0pjSaUWU6bJ4w0Ac0i+kWiFhlQTsRbEKEK+E2BVSHcGRAhWDVYWFHZmr1z7N/MOhUJhw"',
        "--- PASS: TestTransition/ENDED_GitCommit_rebase_skips_everything (0.00s)",
        "tests pass: `pnpm test`",
        "monkey: a1B2c3D4e5F6g7H8, tokenizer = AutoTokenizer2",
        "token_count=1234567890123, password_file: /run/secrets/db1",
        "the token of the session is invalid; the key to this is patience",
        "x = httpclient.GetResponse(url, token)",
        "VITE_GOOGLE_CLIENT_ID=164556913424-uif44is1apnl7rqc9a2ac7vn8u9dq0ee",
    ],
)
def test_a_line_without_a_secret_stays(text: str) -> None:
    assert Redactor().redact(text).text == text


def test_the_value_of_a_pair_in_json_is_read_with_its_name() -> None:
    value = {"env": [{"name": "DB_PASSWORD", "value": "hunter22!"}, {"name": "HOST", "value": "db.example.org"}]}

    assert Redactor().redact_json(value) == {
        "env": [{"name": "DB_PASSWORD", "value": "[redacted:secret]"}, {"name": "HOST", "value": "db.example.org"}]
    }


def test_the_private_part_of_a_json_web_key_is_masked() -> None:
    key = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "d": RANDOM}

    assert Redactor().redact_json(key) == key | {"d": "[redacted:secret]"}


@pytest.mark.parametrize(
    "text", ["\ud800", "token: \ud800aB3dE5fG7hJ9k", f"password: {PASSWORD} \ud800 [redacted:secret]"]
)
def test_half_a_character_stops_nothing(text: str) -> None:
    once = Redactor().redact(text).text

    assert Redactor().redact(once).text == once
    assert Redactor().redact_json({"password": text})
