import datetime as dt
from pathlib import Path

import pytest

from memory_server.errors import NeedsRepair
from parts.machines.addresses import Address
from parts.machines.register import KnownMachine, Register

NOON = dt.datetime(2026, 3, 31, 12, 0, tzinfo=dt.UTC)
DAY = NOON.date().toordinal() - dt.date(1970, 1, 1).toordinal()


def at(name: str, host: str) -> Address:
    return Address(name, "", host, "")


def test_what_expires_within_a_week_is_counted_by_the_days_that_the_client_there_keeps(tmp_path: Path) -> None:
    days = {DAY - 40: 1, DAY - 24: 2, DAY - 23: 4, DAY - 22: 8, DAY: 16}

    assert KnownMachine("a", "a", "", "", days=days).expiring(NOON) == 3
    assert KnownMachine("a", "a", "", "", days=days, cleanup_days=7).expiring(NOON) == 15
    assert KnownMachine("a", "a", "", "", days=days, cleanup_days=365).expiring(NOON) == 0


def test_a_machine_is_known_again_by_its_mark_else_by_its_address(tmp_path: Path) -> None:
    register = Register(tmp_path / "machines.json")
    register.note(register.identify(at("laptop", "one"), "mark of laptop", ["desk"]))

    again = Register(tmp_path / "machines.json")

    assert again.identify(at("notebook", "two"), "mark of laptop", []).id == "laptop"
    assert again.identify(at("notebook", "two"), "mark after a reinstallation", []).id == "laptop"
    assert again.identify(at("laptop", "three"), "mark of another", []).id == "laptop-2"
    assert again.identify(at("DESK", "four"), "mark of a fourth", ["desk"]).id == "DESK-2"


def test_a_damaged_register_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "machines.json").write_text("{", encoding="utf-8")

    with pytest.raises(NeedsRepair, match="Move it away"):
        Register(tmp_path / "machines.json")
