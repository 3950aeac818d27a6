"""Every setting of a person is either theirs alone to change, or named here as one that an assistant may change."""

import re
from dataclasses import fields
from pathlib import Path

from memory_server.settings import MemorySettings, PersonSettings
from oneiros.light.hook import GUARDED
from oneiros.light.person_only import PERSON_SETTINGS

CHECKOUT = Path(__file__).parents[3]
FREE = frozenset(
    "embedding_share embedding_cores embedding_engine raw_vectors query_log structured_output answer_tokens semantic "
    "project_aliases idle_hours reference_tags reference_minutes daily_at dream_at dream_hunks_a_day dream_expiry_days "
    "dream_stale_days dream_history dream_commit hook_bytes muted_projects muted_pointers "
    "use_breaks_ties half_lives fade_days archive_max_mb backup_days idle_minutes http_port memory_ceiling_mb "
    "chat_tokens time_zone".split()
)


def test_each_setting_is_the_persons_alone_or_free() -> None:
    known = {field.name for field in fields(PersonSettings)}

    assert known - PERSON_SETTINGS == FREE
    assert PERSON_SETTINGS - known <= {"key"}
    assert not PERSON_SETTINGS & {field.name for field in fields(MemorySettings)}


def test_the_shell_in_front_of_the_guard_looks_for_the_same_words() -> None:
    script = (CHECKOUT / "plugin" / "bin" / "oneiros-guard").read_text(encoding="utf-8")
    patterns = [
        re.sub(r"\[[A-Z]([a-z])\]", r"\1", one.strip().strip("*").strip('"'))
        for line in script.splitlines()
        if line.endswith(") ;;")
        for one in line.removesuffix(") ;;").split("|")
    ]

    assert sorted(one for one in patterns if one) == sorted(mark.decode() for mark in GUARDED)
