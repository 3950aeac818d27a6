import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.intake import shows
from benchmarks.planted_secrets import Planted, plant
from memory_server.errors import UsageError
from memory_server.redaction import Redactor

PLANTED = list(plant(seed=11))


@pytest.mark.parametrize("planted", PLANTED, ids=[planted.kind for planted in PLANTED])
def test_a_planted_secret_is_masked_entirely(planted: Planted) -> None:
    assert not shows(Redactor().redact_json(planted.value), planted.secret)


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f2504e04f8911d39a0c0305e82c3301a1b2c3d4",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "session 394e0229-5fa4-428f-b1eb-e821951d3257",
        "/Users/amy/Code/app/.planning/STATE.md and 10.0.0.7:8443, fe80::1, v2.1.330",
        "max_tokens: 4096, token_count=123456, tokenizer = AutoTokenizer",
        "const token = await getToken(user)",
        "password: configService.get<string>('DB_PASSWORD')",
        "private readonly key: Uint8Array, public_key: Option<Vec<u8>>",
        "export API_KEY=$MY_KEY; password=${DB_PASSWORD}; token: {{ secrets.TOKEN }}",
        "Authorization: Bearer $TOKEN",
        "api_key = os.environ['API_KEY']",
        "password: your-password-here",
        "PASSWORD=changeme",
        "The password must be at least 12 characters long.",
        "the token is passed to the server; the secret is safe",
        "Basic Authentication and basic understanding",
        "primary_key: id, foreign_key: user_id, cache_key=f'{a}:{b}'",
        "http://localhost:8080/path?x=1",
        "sk-learn, task-force, ghp_short, AKIA is a prefix",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "author: Web3AuthVerifierService, web3AuthOptions: Web3AuthOptions",
        "user's privateKey is secp256k1",
    ],
)
def test_what_people_search_for_stays(text: str) -> None:
    assert Redactor().redact(text).text == text


def test_a_mask_names_the_kind_and_the_span_the_place() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    redacted = Redactor().redact(f"use {secret} here")

    assert redacted.text == "use [redacted:github-token] here"
    assert [(span.start, span.end, span.kind) for span in redacted.spans] == [(4, 4 + len(secret), "github-token")]


def test_words_that_a_person_denies_are_masked_in_any_case() -> None:
    redactor = Redactor(deny=["Initech", r"re:PROJ-\d+"])

    assert redactor.redact("INITECH pays for PROJ-17").text == "[redacted:denied] pays for [redacted:denied]"


def test_a_deny_pattern_that_cannot_be_compiled_is_the_persons_error() -> None:
    with pytest.raises(UsageError, match="Mend it in the settings"):
        Redactor(deny=["re:("])


def test_names_and_values_of_nested_json_are_redacted() -> None:
    value = {"a": [{"password": "hunter22!"}], "n": 1, "ok": None, "secret": ["x9Kf83mcQ2LpW7ab", True]}

    assert Redactor().redact_json(value) == {
        "a": [{"password": "[redacted:secret]"}],
        "n": 1,
        "ok": None,
        "secret": ["[redacted:secret]", True],
    }


MIXED = st.lists(
    st.sampled_from([p.value for p in PLANTED if isinstance(p.value, str)]) | st.text(max_size=30), max_size=6
).map(" ".join)


@given(MIXED)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = Redactor().redact(text).text

    assert Redactor().redact(once).text == once


@pytest.mark.parametrize(
    "text",
    [
        "use [redacted:github-token] x9Kf83mcQ2LpW7ab of the old key",
        "AccountKey=[redacted:secret] /feed?user=amFdZO3FIyjv4sH6urr4UNZEoz",
        "Password=[redacted:secret] BRIffguSaLari2CYC6yRnkOP6PGdfyVkASyzGMNXG9SEfNjb6-4z",
    ],
)
def test_the_name_in_a_mask_makes_no_secret_of_what_stands_behind_it(text: str) -> None:
    assert Redactor().redact(text).text == text


@given(st.text(max_size=200))
def test_text_outside_the_spans_is_untouched(text: str) -> None:
    redacted = Redactor().redact(text)
    kept = [
        text[a:b]
        for a, b in zip(
            [0, *(s.end for s in redacted.spans)], [*(s.start for s in redacted.spans), len(text)], strict=True
        )
    ]

    rebuilt = kept[0] + "".join(f"[redacted:{s.kind}]{k}" for s, k in zip(redacted.spans, kept[1:], strict=True))
    assert rebuilt == redacted.text
