"""Where a question names a time, passages of that time stand before others that say the same."""

from pathlib import Path

from memory_server.memory import Memory
from tests.memories import new_root, open_memory, recall, write_session
from tests.states import WordEngine

MONTHS = ("2026-03-04", "2026-05-06", "2026-10-07")


def memory_of_months(tmp_path: Path) -> Memory:
    """Three sessions that say the same in three months, and others, so that words tell something apart."""
    root = new_root(tmp_path / "memory")
    for place, day in enumerate(MONTHS):
        write_session(root, f"{day}-x-aaaaaaa{place}", "The robot moved the invoice of the shop.")
    for place in range(40):
        write_session(root, f"2026-01-{place % 28 + 1:02}-y-bbbbbb{place:02}", f"The relay has port {place}.")
    return open_memory(root, WordEngine)


def test_a_session_of_the_month_that_is_named_comes_first(tmp_path: Path) -> None:
    with memory_of_months(tmp_path) as memory:
        memory.reindex()
        for month, day in zip(("March", "May", "October"), MONTHS, strict=True):
            first = recall(memory, f"what did the robot do with the invoice in {month}").hits[0]

            assert first.path.rpartition("/")[2].startswith(day)
            assert "time" in {reason.arm for reason in first.why}


def test_a_question_that_names_no_time_has_no_such_part(tmp_path: Path) -> None:
    with memory_of_months(tmp_path) as memory:
        memory.reindex()
        hits = recall(memory, "what did the robot do with the invoice").hits

        assert hits and all("time" not in hit.parts for hit in hits)
