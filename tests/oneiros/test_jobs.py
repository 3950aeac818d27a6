import datetime as dt

from memory_server.settings import PersonSettings, ReferenceTable
from oneiros.daemon.jobs import ReferenceLooks
from oneiros.daemon.schedule import Every

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


def after(minutes: float) -> dt.datetime:
    return NOON + dt.timedelta(minutes=minutes)


def table(name: str, minutes: float | None) -> ReferenceTable:
    return ReferenceTable(name, ("~/x",), minutes=minutes)


def test_each_source_of_references_is_looked_at_after_its_own_minutes() -> None:
    looks = ReferenceLooks()
    person = PersonSettings(reference_minutes=10, references=(table("often", 2), table("never", 0), table("so", None)))

    due = [looks.due(person, after(minutes)) for minutes in (0, 1, 2, 10)]

    assert due == [["", "often", "so"], [], ["often"], ["", "often", "so"]]
    assert looks.when(person) == Every(2)


def test_references_that_nobody_wants_looked_at_switch_the_job_off() -> None:
    person = PersonSettings(reference_minutes=0, references=(table("never", 0),))

    assert ReferenceLooks().when(person) is None
    assert ReferenceLooks().when(PersonSettings(reference_minutes=0, references=(table("own", 5),))) == Every(5)
