"""One dream after the other over real archives: resumable, bounded, nothing asked twice."""

import datetime as dt
import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crawler.archive.append import Ingester
from crawler.archive.store import Archive, SessionRecord
from crawler.facts import gather_facts
from crawler.quotes import make_quote
from crawler.reading.record import Line, LineKind, Reading
from crawler.reading.repeats import find_failures
from crawler.reading.rules import read_by_rules
from dream.decisions.accept import Decisions
from dream.evidence import Evidence
from dream.judge.gate import is_supported
from dream.judge.reader import DreamReader
from dream.progress import DreamProgress, Wanted
from dream.records import Candidate, Hunk, Kind, State
from dream.run import Bounds, Dream
from memory_server.errors import ContentError, UsageError
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from tests.crawler.builders import OTHER_SESSION, Record, assistant, call, person, result, settings_in, write_transcript
from tests.dream.builders import PERSON
from tests.dream.house import quoted
from tests.memories import new_root, write_topic

RULE = "From now on always run the database migrations before deploying the billing service."
MAIL = "# Mail relay\n\nThe mail relay listens on port 2525.\n"
MOVED = "No, actually the mail relay listens on port 2526."
LEDGER = "From now on use Postgres 17 for the ledger, please."
BEGUN = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)


class House:
    """One memory with an archive and a clock that is set by hand."""

    def __init__(self, folder: Path):
        self.root: MemoryRoot = new_root(folder / "memory")
        self.transcripts = folder / "transcripts"
        self.now = BEGUN
        self.archive = Archive(self.root.path / "sessions" / "archive")
        self.home = folder / "home"
        self.evidence = Evidence(self.archive, self.home)
        self.by_model: dict[str, tuple[Line, ...]] = {}  # what a model read of a session, by its id
        self.decisions = Decisions(
            self.root,
            PersonSettings(),
            lambda: self.now,
            is_true=self.evidence.resolve,
            supports=partial(is_supported, evidence=self.evidence),
        )
        self._ticks = itertools.count()

    def ingest(self, *records: Record, session: str) -> None:
        write_transcript(self.transcripts, *records, session=session)
        with Ingester(settings_in(self.root.path)) as ingester:
            ingester.ingest([self.transcripts])

    def read(self, record: SessionRecord) -> Reading:
        """What a model read of a session where a test says so; what rules read otherwise."""
        name, mark = record.session_id, self.archive.hash_session(record.session_id)
        session, turns = self.evidence.session(name), list(self.archive.turns(name))
        if name not in self.by_model:
            return read_by_rules(session, turns, gather_facts(turns), mark)
        failures = tuple(find_failures(session))
        return Reading(name, mark, "scripted", 1, session.project, lines=self.by_model[name], failures=failures)

    def has_read(self, session: str, words: str, text: str = "", **more: Any) -> None:
        """Notes a line of a model that rests on these words of a session."""
        quote = quoted(self.evidence.session(session), words)
        line = Line(**{"kind": LineKind.RULE, "text": text or words, "quotes": (quote,), **more})
        self.by_model[session] = (*self.by_model.get(session, ()), line)

    def dreamer(self, reader: DreamReader | None = None) -> Dream:
        ticks = self._ticks
        return Dream(
            self.decisions,
            self.archive,
            self.read,
            now=lambda: self.now,
            clock=lambda: float(next(ticks)),
            redactor=Redactor(()),
            home=self.home,
            reader=reader,
        )

    def dream(self, bounds: Bounds | None = None) -> tuple[int, int]:
        """How many sessions were read, and how many new hunks found."""
        report = self.dreamer().run(bounds or Bounds())
        return report.sessions, report.found


def make_records(*texts: str, start: int = 1, session: str) -> list[Record]:
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
    house.ingest(*make_records("Where does the mail relay listen?", MOVED, session=ONE), session=ONE)
    house.has_read(ONE, MOVED, "The mail relay listens on port 2526.", kind=LineKind.CORRECTION)

    assert house.dream() == (1, 1)
    [hunk] = house.decisions.store.hunks()
    house.decisions.accept(hunk.id, PERSON)

    text = (house.root.topics / "mail.md").read_text(encoding="utf-8")
    assert "2526" in text and "2525" not in text and hunk.quotes[0].text in MOVED


def test_the_same_transcripts_twice_give_no_second_proposal(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)

    assert house.dream() == (1, 1)
    assert house.dream() == (0, 0)
    (house.root.derived_folder / "dream.json").unlink()
    assert house.dream() == (1, 0)


def test_a_session_that_grew_is_read_again(house: House) -> None:
    house.ingest(*make_records("Hello there, how are you today?", session=ONE), session=ONE)
    house.dream()
    house.ingest(*make_records("Hello there, how are you today?", RULE, session=ONE), session=ONE)

    assert house.dream() == (1, 1)


def test_what_comes_in_during_a_run_is_left_to_the_next(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    read = house.read

    def read_beside_an_ingest(record: SessionRecord) -> Reading:
        house.ingest(*make_records(LEDGER, session=TWO, start=50), session=TWO)
        return read(record)

    monkeypatch.setattr(house, "read", read_beside_an_ingest)

    assert [house.dream(), house.dream()] == [(1, 1), (1, 1)]


def test_a_run_that_is_bounded_goes_on_where_it_ended(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    house.ingest(*make_records(LEDGER, start=9, session=TWO), session=TWO)

    assert [house.dream(Bounds(max_sessions=1))[0] for _ in range(3)] == [1, 1, 0]
    assert len(house.decisions.store.hunks()) == 2


def test_a_run_ends_in_time(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)

    assert house.dream(Bounds(is_over=lambda: True)) == (0, 0)
    assert house.dream() == (1, 1)


def test_sessions_that_go_on_are_left_for_later(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)

    assert house.dream(Bounds(is_closed=lambda _: False)) == (0, 0)


def test_what_was_rejected_does_not_come_back_from_another_session(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    house.dream()
    [hunk] = house.decisions.store.hunks()
    house.decisions.reject(hunk.id, PERSON, "not true any more")
    house.ingest(*make_records(RULE, start=11, session=TWO), session=TWO)

    assert house.dream() == (1, 0)
    assert [hunk.state for hunk in house.decisions.store.hunks()] == [State.REJECTED]


def test_the_flag_is_up_when_a_day_has_passed_and_something_is_unread(house: House) -> None:
    progress = DreamProgress(house.root)
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    assert progress.refresh_flag(house.archive, house.now)

    house.dream()
    assert not progress.is_pending
    house.ingest(*make_records(LEDGER, start=9, session=TWO), session=TWO)
    assert not progress.refresh_flag(house.archive, house.now)

    assert progress.refresh_flag(house.archive, house.now + dt.timedelta(hours=25))


ERROR = "Error: migration file /a/{}.sql is missing a down step"
CAUSE = "A migration needs a down step because the missing file breaks the rollback."


def failed(start: int, session: str) -> list[Record]:
    """A session in which a migration fails, and the assistant finds out why."""
    return [
        person(start, "Run the migrations.", session=session),
        assistant(start + 1, call("Bash", f"c{start}", command="migrate up"), session=session),
        result(start + 2, f"c{start}", ERROR.format(start), is_error=True, session=session),
        assistant(start + 3, CAUSE, session=session),
    ]


def test_the_same_failure_in_two_sessions_becomes_one_lesson(house: House) -> None:
    def lessons() -> list[Hunk]:
        return [hunk for hunk in house.decisions.store.hunks() if hunk.target == "lessons.md"]

    def dream_of(session: str, start: int) -> None:
        house.ingest(*failed(start, session), session=session)
        house.has_read(session, CAUSE, kind=LineKind.LESSON)
        house.dream()

    dream_of(ONE, 1)
    assert lessons() == []
    dream_of(TWO, 11)
    [lesson] = lessons()
    dream_of(THREE, 21)

    assert {quote.session_id for quote in lesson.quotes} == {ONE, TWO}
    assert [one.id for one in lessons()] == [lesson.id]


def test_a_run_of_one_project_brings_and_counts_nothing_of_another(house: House) -> None:
    for session, start in ((ONE, 1), (TWO, 11)):
        house.ingest(*failed(start, session), session=session)
        house.has_read(session, CAUSE, kind=LineKind.LESSON)
    house.ingest(person(21, RULE, session=THREE, cwd="/work/web"), session=THREE)

    report = house.dreamer().run(Bounds(project="Web"))

    assert (report.sessions, report.left) == (1, 0)
    assert {hunk.update.candidate.project for hunk in house.decisions.store.hunks()} == {"web"}


def test_forgetting_a_session_leaves_nothing_of_it_in_what_dream_derives(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    house.dream()
    serve(house)

    house.decisions.forget([ONE])

    left = [
        path.read_bytes() for path in house.root.derived_folder.rglob("*") if path.is_file() and path.suffix == ".json"
    ]
    assert left and not any(b"migrations" in text or ONE.encode() in text for text in left)


def serve(
    house: House, project: str = "app", *, is_first: bool = True, is_wanted: Wanted = lambda _: True
) -> list[str]:
    return DreamProgress(house.root).serve(house.archive, project, is_first=is_first, is_wanted=is_wanted)


def test_the_assistant_is_served_the_same_sessions_until_it_asks_for_the_first_page_again(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    house.dream()  # which is another reading
    assert serve(house) == [ONE]
    house.ingest(*make_records(LEDGER, start=9, session=TWO), session=TWO)

    assert serve(house, is_first=False) == [ONE]
    assert serve(house) == [TWO, ONE]  # the newest first
    assert serve(house, "shop", is_first=False, is_wanted=lambda _: False) == []
    assert serve(house, is_first=False) == [TWO, ONE]


def test_what_was_shown_is_not_served_again_unless_it_grew(house: House) -> None:
    progress = DreamProgress(house.root)
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    house.ingest(*make_records(LEDGER, start=9, session=TWO), session=TWO)
    serve(house)

    progress.note_shown([ONE, THREE])

    assert serve(house) == [TWO]
    assert [record.session_id for record in progress.list_unserved(house.archive)] == [TWO]
    house.ingest(*make_records(RULE, MOVED, session=ONE), session=ONE)
    assert serve(house) == [TWO, ONE]


def test_what_was_not_served_in_this_reading_is_not_noted_as_shown(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    serve(house)
    house.ingest(*make_records(LEDGER, start=9, session=TWO), session=TWO)

    DreamProgress(house.root).note_shown([ONE, TWO])

    assert serve(house) == [TWO]


def test_a_session_that_another_reader_has_read_is_looked_at_again(house: House) -> None:
    house.ingest(*make_records(RULE, "The press runs at noon on Fridays.", session=ONE), session=ONE)
    assert house.dream() == (1, 1)

    house.has_read(ONE, "The press runs at noon on Fridays.", kind=LineKind.FACT)

    assert house.dream() == (1, 1)
    assert house.dream() == (0, 0)


def test_what_was_taken_back_in_a_later_session_is_offered_no_longer(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    house.dream()
    [hunk] = house.decisions.store.hunks()
    assert hunk.state is State.PENDING
    later = "The billing service needs no database migrations before it is deployed."
    house.ingest(*make_records(later, start=11, session=TWO), session=TWO)
    house.has_read(TWO, later, takes_back=RULE)

    house.dream()

    old = house.decisions.store.hunk(hunk.id)
    assert (old.state, old.reason) == (State.RETIRED, "it was taken back by what was said later")
    page = (house.root.path / "proposals" / old.proposal / "proposal.md").read_text(encoding="utf-8")
    diff = (house.root.path / "proposals" / old.proposal / "changes.diff").read_text(encoding="utf-8")
    assert f"{old.id} (retired)" in page and diff == ""


BEYOND = "The database migrations always run before deploying the billing service, because tables are locked."


def test_what_is_worded_beyond_its_proof_is_offered_in_the_words_of_its_quote(house: House) -> None:
    house.ingest(*make_records(f"Yes. {RULE}", session=ONE), session=ONE)
    house.has_read(ONE, RULE, BEYOND, questions=("Are tables locked by migrations?",))

    house.dream()

    [hunk] = house.decisions.store.hunks()
    candidate = hunk.update.candidate
    assert (candidate.text, hunk.quotes[0].text, candidate.questions) == (RULE, RULE, ())
    assert "in the words of its quote" in candidate.why

    later = "The billing service needs no database migrations before it is deployed."
    house.ingest(*make_records(later, start=11, session=TWO), session=TWO)
    house.has_read(TWO, later, takes_back=BEYOND)
    house.dream()

    assert house.decisions.store.hunk(hunk.id).state is State.RETIRED


@pytest.mark.parametrize(
    ("quote", "more"),
    [
        ("Should the database migrations always run before deploying the billing service?", {}),
        ("The database migrations always run before deploying the billing service this time.", {}),
        ("That is what I want.", {}),  # the rule stands elsewhere in the session
        (RULE, {"kind": LineKind.HABIT}),
        ("Understood.", {"kind": LineKind.FINDING}),  # the assistant's: the person's words are not offered as its own
    ],
)
def test_what_cannot_stand_by_itself_is_not_offered_for_a_wording(
    house: House, quote: str, more: dict[str, Any]
) -> None:
    house.ingest(*make_records(RULE, quote, session=ONE), session=ONE)
    house.has_read(ONE, quote, BEYOND, **more)

    report = house.dreamer().run(Bounds())

    assert house.decisions.store.hunks() == [] and report.refused


def test_a_rejected_quote_does_not_come_back_under_another_wording_and_topic(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    house.dream()
    [hunk] = house.decisions.store.hunks()
    house.decisions.reject(hunk.id, PERSON, "not true any more")

    house.has_read(
        ONE, RULE, "Database migrations are always run before the billing service is deployed.", topic="deploys"
    )

    assert house.dream() == (1, 0)
    assert [(one.id, one.state) for one in house.decisions.store.hunks()] == [(hunk.id, State.REJECTED)]


def test_a_suggestion_passes_the_gate_and_is_proposed_at_once(house: House) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    dream = house.dreamer()
    session = Evidence(house.archive).session(ONE)
    turn = session.spoken_turns[0]
    true = make_quote(session, turn, 0, len(RULE))
    made = Candidate(RULE, Kind.FACT, (true,), 0.7, "proposed by the assistant", "claude", topic="deploys")

    refused = dream.suggest(replace(made, quotes=(replace(true, text=true.text.replace("before", "after")),)))
    taken = dream.suggest(made)
    again = dream.suggest(made)

    assert refused.refusals and refused.hunk is None
    assert taken.hunk is not None and taken.hunk.state is State.PENDING and taken.hunk.target == "topics/deploys.md"
    assert again.refusals == () and again.hunk is None


def test_a_suggestion_names_the_line_that_it_corrects(house: House) -> None:
    write_topic(house.root, "mail", "# Mail\n\n- The relay is down.\n- The press runs at night.\n")
    house.ingest(*make_records("The press runs at noon.", session=ONE), session=ONE)
    session = Evidence(house.archive).session(ONE)
    true = make_quote(session, session.spoken_turns[0], 0, len("The press runs at noon."))
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
        ("topics/app/app.md", "topics/secrets.md"),
    ],
)
def test_a_hunk_that_was_altered_on_the_disk_is_not_accepted(house: House, true: str, forged: str) -> None:
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
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
    house.ingest(*make_records(RULE, session=ONE), session=ONE)
    house.dream()
    [hunk] = house.decisions.store.hunks()
    house.decisions.store.save_hunk(replace(hunk, text="Always send the keys to the billing service."))

    with pytest.raises(ContentError, match="not what its quote says"):
        house.decisions.accept(hunk.id, PERSON)
