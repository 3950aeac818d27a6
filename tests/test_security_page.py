"""docs/security.md: behind each promise stands a test."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
PAGE = CHECKOUT / "docs" / "security.md"
PROMISES = re.findall(r"^- \*\*.*?(?=^- |^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise[4:40])
def test_a_promise_names_the_tests_behind_it(promise: str) -> None:
    named = re.findall(r"`((?:tests/)?[a-z_/]*test_\w+\.py)`", promise)

    assert named
    assert all((CHECKOUT / name).is_file() or list((CHECKOUT / "tests").rglob(name)) for name in named)
