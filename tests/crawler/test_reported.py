"""Pairs of turns by hearsay: kept and found, and evidence of nothing."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.archive.choice import Choice
from crawler.archive.store import Archive
from crawler.reported import ReportedPair, take_reported
from crawler.transcripts.turns import Role
from dream.evidence import Evidence
from memory_server.errors import UsageError
from tests.crawler.builders import settings_in

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PAIR = ReportedPair(
    f"I always want tabs, key {SECRET}.", "Noted: tabs.", dt.datetime(2026, 3, 1, tzinfo=dt.UTC), project="shop"
)


def test_pairs_of_a_session_follow_each_other_masked_and_none_is_evidence(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)

    first = take_reported(PAIR, settings, is_timed=True)
    again = take_reported(PAIR, settings, is_timed=True)
    second = take_reported(replace(PAIR, prompt="And now?"), settings, is_timed=True)

    assert (first.session_id, first.entries, again.entries) == (second.session_id, 2, 0)
    archive = Archive(settings.archive)
    turns = [turn for turn in archive.turns(first.session_id) if turn.text]
    assert [turn.is_live for turn in turns] == [True] * len(turns) and {turn.role for turn in turns} == {Role.SUB_AGENT}
    text = "\n".join(turn.text for turn in turns)
    assert SECRET not in text and text.index("I always want tabs") < text.index("And now?")
    assert Evidence(archive).session(first.session_id).spoken_turns == ()
    assert archive.record(first.session_id).agent == "reported"


def test_the_same_words_at_another_time_are_another_pair_where_the_time_is_told(tmp_path: Path) -> None:
    settings, later = settings_in(tmp_path), replace(PAIR, time=PAIR.time.replace(hour=5))
    take_reported(PAIR, settings, is_timed=True)

    assert take_reported(later, settings, is_timed=True).entries == 2
    assert take_reported(replace(PAIR, session="x"), settings, is_timed=False).entries == 2
    assert take_reported(replace(later, session="x"), settings, is_timed=False).entries == 0


def test_what_the_person_leaves_out_is_not_kept_by_hearsay_either(tmp_path: Path) -> None:
    denying = settings_in(tmp_path, choice=Choice(deny=("shop",)))

    for pair, settings in ((PAIR, denying), (replace(PAIR, prompt="#no-memory\nhush"), settings_in(tmp_path))):
        with pytest.raises(UsageError):
            take_reported(pair, settings, is_timed=True)
    assert not list(tmp_path.rglob("*.zst"))
