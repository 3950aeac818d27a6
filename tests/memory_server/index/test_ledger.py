from contextlib import closing
from pathlib import Path

import pytest

from memory_server.errors import NeedsRepair
from memory_server.index.ledger import Ledger


def test_a_ledger_that_another_process_writes_for_long_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_server.machine.database.LOCK_SECONDS", 0.05)
    with closing(Ledger(tmp_path / "ledger.db")) as one, closing(Ledger(tmp_path / "ledger.db")) as other:  # noqa: SIM117
        with one.transaction(), pytest.raises(NeedsRepair, match=r"cannot be written \(database is locked\)"):
            other.set_problems(())
