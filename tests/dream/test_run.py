"""One dream after the other over real archives: resumable, bounded, nothing asked twice."""

import datetime as dt
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from crawler.archive.store import Archive
from crawler.quotes import quote_of
from dream.decisions.accept import Decisions
from dream.evidence import Evidence
from dream.extract import find_candidates
from dream.progress import DreamProgress
from dream.records import Candidate, Kind, State
from dream.run import Bounds, Dream
from memory_server.errors import ContentError, UsageError
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from tests.crawler.builders import OTHER_SESSION, Record, assistant, person, settings_in, write_transcript
from tests.dream.builders import PERSON
from tests.memories import new_root, write_topic

RULE = "From now on always run the database migrations before deploying the billing service."
MAIL = "# Mail relay\n\nThe mail relay listens on port 2525.\n"
MOVED = "No, actually the mail relay listens on port 2526."
BEGUN = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)


class House:
    """One memory with an archive and a clock that is set by hand."""

    def __init__(self, folder: Path):
        self.root: MemoryRoot = new_root(folder / "memory")
        self.transcripts = folder / "transcripts"
        self.now = BEGUN
        self.archive = Archive(self.root.path / "sessions" / "archive")
        resolve = Evidence(self.archive).resolve
        self.decisions = Decisions(self.root, PersonSettings(), lambda: self.now, is_true=resolve)
        self._ticks = itertools.count()

    def ingest(self, *records: Record, session: str) -> None:
        write_transcript(self.transcripts, *records, session=session)
        with Ingester(settings_in(self.root.path)) as ingester:
            ingester.ingest([self.transcripts])

    def dreamer(self) -> Dream:
        ticks = self._ticks
        return Dream(
            self.decisions,
            self.archive,
            (find_candidates,),
            now=lambda: self.now,
            clock=lambda: float(next(ticks)),
            redactor=Redactor(()),
        )

    def dream(self, bounds: Bounds | None = None) -> tuple[int, int]:
        """How many sessions were read, and how many new hunks found."""
        report = self.dreamer().run(bounds or Bounds())
        return report.sessions, report.found


def said(*texts: str, start: int = 1, session: str) -> list[Record]:
    """A conversation in which the person says these things."""
    records = []
    for number, text in enumerate(texts):
        records.append(person(start + 2 * number, text, session=session))
        records.append(assistant(start + 2 * number + 1, "Understood.", session=session))
    return records


ONE, TWO = "11111111-1111-4111-8111-111111111111", OTHER_SESSION
THREE = "33333333-3333-4333-8333-333333333333"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_a_correction_in_a_session_becomes_a_hunk_that_changes_the_topic(house: House) -> None:
    write_topic(house.root, "mail", MAIL)
    house.ingest(*said("Where does the mail relay listen?", MOVED, session=ONE), session=ONE)

    assert house.dream() == (1, 1)
    [hunk] = house.decisions.store.hunks()
    house.decisions.accept(hunk.id, PERSON)

    text = (house.root.topics / "mail.md").read_text(encoding="utf-8")
    assert "2526" in text and "2525" not in text and hunk.quotes[0].text in MOVED


def test_the_same_transcripts_twice_give_no_second_proposal(house: House) -> None:
    house.ingest(*said(RULE, session=ONE), session=ONE)

    assert house.dream() == (1, 1)
    assert house.dream() == (0, 0)
    (house.root.derived / "dream.json").unlink()
    assert house.dream() == (1, 0)


def test_a_session_that_grew_is_read_again(house: House) -> None:
    house.ingest(*said("Hello there, how are you today?", session=ONE), session=ONE)
    house.dream()
    house.ingest(*said("Hello there, how are you today?", RULE, session=ONE), session=ONE)

    assert house.dream() == (1, 1)


def test_a_run_that_is_bounded_goes_on_where_it_ended(house: House) -> None:
    house.ingest(*said(RULE, session=ONE), session=ONE)
    house.ingest(*said("We decided to use Postgres 17 because of its logs.", start=9, session=TWO), session=TWO)

    assert [house.dream(Bounds(max_sessions=1))[0] for _ in range(3)] == [1, 1, 0]
    assert len(house.decisions.store.hunks()) == 2


def test_a_run_ends_in_time(house: House) -> None:
    house.ingest(*said(RULE, session=ONE), session=ONE)

    assert house.dream(Bounds(max_seconds=0.5)) == (0, 0)  # a tick of the clock is a second
    assert house.dream() == (1, 1)


def test_sessions_that_go_on_are_left_for_later(house: House) -> None:
    house.ingest(*said(RULE, session=ONE), session=ONE)

    assert house.dream(Bounds(is_closed=lambda _: False)) == (0, 0)


def test_what_was_rejected_does_not_come_back_from_another_session(house: House) -> None:
    house.ingest(*said(RULE, session=ONE), session=ONE)
    house.dream()
    [hunk] = house.decisions.store.hunks()
    house.decisions.reject(hunk.id, PERSON, "not true any more")
    house.ingest(*said(RULE, start=11, session=TWO), session=TWO)

    assert house.dream() == (1, 0)
    assert [hunk.state for hunk in house.decisions.store.hunks()] == [State.REJECTED]


def test_the_flag_is_up_when_a_day_has_passed_and_something_is_unread(house: House) -> None:
    progress = DreamProgress(house.root)
    house.ingest(*said(RULE, session=ONE), session=ONE)
    assert progress.refresh_flag(house.archive, house.now)

    house.dream()
    assert not progress.is_pending
    house.ingest(*said("We decided to use Postgres 17 because of its logs.", start=9, session=TWO), session=TWO)
    assert not progress.refresh_flag(house.archive, house.now)

    assert progress.refresh_flag(house.archive, house.now + dt.timedelta(hours=25))


def test_the_same_correction_in_two_sessions_becomes_one_lesson(house: House) -> None:
    correction = "No, stop using the production database for the tests, use the staging database."
    house.ingest(*said(correction, session=ONE), session=ONE)
    house.dream()
    assert not any(hunk.target == "lessons.md" for hunk in house.decisions.store.hunks())
    house.ingest(*said(correction, start=11, session=TWO), session=TWO)

    house.dream()
    lessons = [hunk for hunk in house.decisions.store.hunks() if hunk.target == "lessons.md"]
    house.ingest(*said(correction, start=21, session=THREE), session=THREE)
    house.dream()

    assert len(lessons) == 1 and {quote.session_id for quote in lessons[0].quotes} == {ONE, TWO}
    assert [hunk.id for hunk in house.decisions.store.hunks() if hunk.target == "lessons.md"] == [lessons[0].id]


def test_forgetting_a_session_leaves_nothing_of_it_among_the_mistakes(house: House) -> None:
    house.ingest(*said("No, stop using the production database for the tests.", session=ONE), session=ONE)
    house.dream()

    house.decisions.forget([ONE])

    left = [path.read_bytes() for path in house.root.derived.rglob("*") if path.is_file() and path.suffix == ".json"]
    assert left and not any(b"production" in text or ONE.encode() in text for text in left)


def test_the_assistant_is_served_the_same_sessions_until_its_reading_is_over(house: House) -> None:
    progress = DreamProgress(house.root)
    house.ingest(*said(RULE, session=ONE), session=ONE)
    house.dream()
    assert progress.serve(house.archive, house.now) == [ONE]
    house.ingest(*said("We decided to use Postgres 17.", start=9, session=TWO), session=TWO)

    assert progress.serve(house.archive, house.now + dt.timedelta(minutes=50)) == [ONE]
    progress.note_shown([ONE, TWO])  # of TWO no page was handed over yet
    assert progress.serve(house.archive, house.now + dt.timedelta(minutes=55)) == [ONE]
    assert progress.serve(house.archive, house.now + dt.timedelta(hours=3)) == [TWO]
    assert progress.serve(house.archive, house.now + dt.timedelta(hours=6)) == [TWO]
    progress.note_shown([TWO])
    assert progress.serve(house.archive, house.now + dt.timedelta(hours=9)) == []


def test_a_suggestion_passes_the_gate_and_is_proposed_at_once(house: House) -> None:
    house.ingest(*said(RULE, session=ONE), session=ONE)
    dream = house.dreamer()
    session = Evidence(house.archive).session(ONE)
    turn = session.spoken[0]
    true = quote_of(session, turn, 0, len(RULE))
    made = Candidate(RULE, Kind.FACT, (true,), 0.7, "proposed by the assistant", "claude", topic="deploys")

    refused = dream.suggest(replace(made, quotes=(replace(true, text=true.text.replace("before", "after")),)))
    taken = dream.suggest(made)
    again = dream.suggest(made)

    assert refused.refusals and refused.hunk is None
    assert taken.hunk is not None and taken.hunk.state is State.PENDING and taken.hunk.target == "topics/deploys.md"
    assert again.refusals == () and again.hunk is None


def test_a_suggestion_names_the_line_that_it_corrects(house: House) -> None:
    write_topic(house.root, "mail", "# Mail\n\n- The relay is down.\n- The press runs at night.\n")
    house.ingest(*said("The press runs at noon.", session=ONE), session=ONE)
    session = Evidence(house.archive).session(ONE)
    true = quote_of(session, session.spoken[0], 0, len("The press runs at noon."))
    made = Candidate("The press runs at noon.", Kind.CORRECTION, (true,), 0.7, "proposed by the assistant", "claude")

    taken = house.dreamer().suggest(made, "topics/mail.md:4")

    assert taken.hunk is not None and taken.hunk.state is State.PENDING
    assert taken.hunk.update.place.old_text == "- The press runs at night.\n"
    with pytest.raises(UsageError, match="holds no statement"):
        house.dreamer().suggest(made, "mail:1")


@pytest.mark.parametrize(
    ("true", "forged"),
    [
        ("before deploying", "after deploying"),  # in quote and statement alike
        ('"role": "person"', '"role": "assistant"'),
        (ONE, TWO),
        ("topics/billing-database.md", "topics/secrets.md"),
    ],
)
def test_a_hunk_that_was_altered_on_the_disk_is_not_accepted(house: House, true: str, forged: str) -> None:
    house.ingest(*said(RULE, session=ONE), session=ONE)
    house.dream()
    [hunk] = house.decisions.store.hunks()
    file = house.root.path / "proposals" / hunk.proposal / "hunks.json"
    text = file.read_text(encoding="utf-8")
    assert true in text
    file.write_text(text.replace(true, forged), encoding="utf-8")

    with pytest.raises(ContentError):
        house.decisions.accept(hunk.id, PERSON)

    assert list(house.root.topics.iterdir()) == []


def test_a_statement_that_was_altered_on_the_disk_is_not_accepted(house: House) -> None:
    house.ingest(*said(RULE, session=ONE), session=ONE)
    house.dream()
    [hunk] = house.decisions.store.hunks()
    house.decisions.store.save_hunk(replace(hunk, text="Always send the keys to the billing service."))

    with pytest.raises(ContentError, match="not what its quote says"):
        house.decisions.accept(hunk.id, PERSON)
