"""Evidence: a quote is true of a turn to the last character, or it is none."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler.quotes import SessionTurns, is_true_of, make_quote, session_turns
from crawler.reading.rules import find_typed_sentences, sure_lines, trim_sentence
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from dream.judge.compare import compare, is_worth_asking
from dream.records import Candidate, Kind
from dream.topics import build_topics
from memory_server.document import SourcePath
from tests.crawler.builders import SESSION, Record, assistant, call, person, result
from tests.dream.house import archived, quoted

PROMPT = PartKind.PROMPT
SENTENCES = (
    "The relay listens on port {n}.",
    "always run the tests before a push",
    "No, it runs on 10.0.0.{n}, not on 10.1.1.1.",
    "we decided to keep {n} replicas because restarts are slow",
    "Does it listen on port {n}?",
    "if it were {n} we would see it",
    "```\nport = {n}\n```",
    "> port {n}",
    "I prefer small commits\nover large ones – äöü 日本 🎉",
    "Remember that Marta owns mail-{n}.",
)
TOPIC_LINES = st.lists(st.sampled_from(SENTENCES).map(lambda s: s.format(n=7)), max_size=6)
TURN_TEXTS = st.lists(
    st.lists(st.tuples(st.sampled_from(SENTENCES), st.integers(1, 99)), min_size=1, max_size=4).map(
        lambda parts: "\n".join(sentence.format(n=number) for sentence, number in parts)
    ),
    min_size=1,
    max_size=5,
)


def test_a_quote_of_the_archive_resolves_and_one_letter_more_does_not(tmp_path: Path) -> None:
    evidence = archived(tmp_path, {SESSION: [person(1, "The relay listens on port 2525. Thanks.")]})
    quote = quoted(evidence.session(SESSION), "The relay listens on port 2525.")

    assert evidence.resolve(quote)
    assert not evidence.resolve(replace(quote, end=quote.end + 1))


def test_what_a_tool_returned_is_not_spoken(tmp_path: Path) -> None:
    records = [
        person(1, "Look."),
        assistant(2, call("Bash", "c1", command="x")),
        result(3, "c1", "port 5433"),
        assistant(4, "Seen."),
    ]
    session = archived(tmp_path, {SESSION: records}).session(SESSION)

    assert [(turn.role, turn.text) for turn in session.spoken_turns] == [
        (Role.PERSON, "Look."),
        (Role.ASSISTANT, "Seen."),
    ]


def test_a_note_for_sessions_is_evidence_of_nothing(tmp_path: Path) -> None:
    """Neither where a session wrote it, nor where another one read it, though it speaks as a person would."""
    wish = "I prefer tabs over spaces in this project, always use tabs."

    def lines_of(folder: Path, *records: Record) -> list[str]:
        session = archived(folder, {SESSION: [person(1, "Go on."), *records]}).session(SESSION)
        return [line.text for line in sure_lines(session)]

    written = assistant(2, call("mcp__oneiros__note_for_sessions", "c1", kind="status", text=wish))
    read = assistant(4, call("mcp__oneiros__read_memory", "c2", first=1))
    records = (written, result(3, "c1", "Noted."), read, result(5, "c2", f"   | {wish}"), assistant(6, "Seen."))

    assert lines_of(tmp_path / "noted", *records) == []
    assert lines_of(tmp_path / "said", *records, person(7, wish))  # said by the person it is one


def test_a_model_call_of_our_own_is_no_session() -> None:
    turn = Turn(Role.PERSON, PROMPT, "<oneiros-task dream>\nAlways use tabs.", ("e1",))

    assert session_turns(SESSION, "app", [turn]).spoken_turns == ()


def find_candidates(session: SessionTurns) -> Iterator[Candidate]:
    """Every sentence that the person typed, as a candidate."""
    for turn in session.spoken_turns:
        for span in find_typed_sentences(turn):
            quote = make_quote(session, turn, *span)
            yield Candidate(trim_sentence(quote.text), Kind.FACT, (quote,), 0.9, "test", "test")


@given(texts=TURN_TEXTS, lines=TOPIC_LINES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_update_over_random_turns_and_topics_has_quotes_that_resolve(texts: list[str], lines: list[str]) -> None:
    turns = [Turn(Role.PERSON, PROMPT, text, (f"entry-{number}",)) for number, text in enumerate(texts)]
    session = session_turns(SESSION, "app", turns)
    topics = build_topics({SourcePath("topics/app.md"): "# App\n\n" + "".join(f"- {line}\n" for line in lines)})

    for candidate in find_candidates(session):
        update = compare(candidate, topics)
        for quote in update.candidate.quotes:
            assert any(is_true_of(quote, turn) for turn in session.spoken_turns)
        if update.place.replaces and is_worth_asking(update):
            old = "".join(topics.files[0].lines[update.place.replaces.first - 1 : update.place.replaces.last])
            assert old == update.place.old_text
            assert old.startswith(update.place.kept_before)
            assert old.endswith(update.place.kept_after)
