"""Secrets as people paste and say them: on command lines, in lists, in sentences, and over two literals."""

import pytest

from memory_server.redaction import Redactor


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (r"net use Z: \\srv\share /user:corp\bob Hunter2!x9", "Hunter2!x9"),
        (r"net use Z: \\srv\share Hunter2!x9 /user:corp\bob", "Hunter2!x9"),
        ("cmdkey /add:srv /user:bob /pass:S3cret!pw", "S3cret!pw"),
        ("cmdkey /generic:srv /user:bob /pass:Blume77", "Blume77"),
        ("GET /callback?code=4/0AX4XfWh2kQ9zLrT1m&state=x", "0AX4XfWh2kQ9zLrT1m"),
        ("https://app.example/cb?state=1&code=SplxlOBeZQQYbYS6WxSbIA", "SplxlOBeZQQYbYS6WxSbIA"),
        ("Recovery codes: 1a2b-3c4d 5e6f-7g8h 9i0j-1k2l", "9i0j-1k2l"),
        ("backup codes:\n  83jd92kd\n  k2j499sd\n", "k2j499sd"),
        ("The staging password is Tulip-9921!", "Tulip-9921"),
        ("the password is hunter2", "hunter2"),
        ("export PGPASSWORD=blauwal77", "blauwal77"),
        ("echo 'hunter22' | sudo -S ls", "hunter22"),
        ("unzip -P Blume77 a.zip", "Blume77"),
        ("7z x -pBlume77 a.7z", "Blume77"),
        ('token = "ghp_abcdefghijkl" \\\n    "mnopqrstuvwxyz0123456789"', "mnopqrstuvwxyz0123456789"),
        ('API_KEY = ("sk-live-9aZk3"\n           "PqL0x8VbN2mT7")', "sk-live-9aZk3"),
        ('const secret = "9aZk3PqL" + "0x8VbN2mT7"', "9aZk3PqL"),
    ],
)
def test_what_is_pasted_or_said_is_masked(text: str, secret: str) -> None:
    assert secret not in Redactor().redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "cache key: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        r"net use Z: \\srv\share /persistent:yes",
        "unzip -p foo.zip | head; zip -r out.zip folder",
        "echo done | sudo tee -a log",
        "backup codes: see the manual page",
        "https://app.example/cb?code=invalid_request_error",
        "The password is required; the password was changed",
        "tokens = ('a', 'b'); labels = ('one' 'two')",
    ],
)
def test_what_only_looks_so_stays(text: str) -> None:
    assert Redactor().redact(text).text == text
