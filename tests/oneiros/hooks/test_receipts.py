"""What was injected is remembered for a session, counted, and forgotten with its context."""

from pathlib import Path

from oneiros.hooks.receipts import MOST_SESSIONS, Receipt, Receipts, read_receipts


def test_what_a_session_was_shown_and_what_it_cost_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    receipts = Receipts(file)

    receipts.note("a", "SessionStart", ["x"], 400)
    receipts.note("b", "UserPromptSubmit", ["y"], 30)
    receipts.note("a", "UserPromptSubmit", ["y", "x"], 50)

    assert receipts.list_shown("a") == {"x", "y"}
    assert read_receipts(file) == [Receipt("a", 2, 450), Receipt("b", 1, 30)]
    receipts.forget_shown("a")
    assert receipts.list_shown("a") == set()
    receipts.close()


def test_only_the_newest_sessions_are_kept(tmp_path: Path) -> None:
    receipts = Receipts(tmp_path / "sessions.db")
    for number in range(MOST_SESSIONS + 5):
        receipts.note(str(number), "SessionStart", ["x"], 1)

    receipts.prune()

    assert receipts.list_shown("4") == set() and receipts.list_shown("5") == {"x"}
    receipts.close()


def test_a_file_that_is_no_database_has_no_receipts(tmp_path: Path) -> None:
    (tmp_path / "sessions.db").write_text("nonsense" * 100, encoding="utf-8")

    assert read_receipts(tmp_path / "sessions.db") == []
