import msgspec
from hypothesis import given
from hypothesis import strategies as st

from crawler.archive.choice import Choice
from crawler.transcripts.entry import (
    MAX_LINE_CHARS,
    Entry,
    EntryPart,
    Grammar,
    PartKind,
    as_id,
    as_line,
    is_id,
    is_made_of_another,
)
from memory_server.escaping import HIDDEN
from tests.crawler.builders import Record, assistant, call, person, result, to_lines
from tests.crawler.test_transcript import entries_of


@given(st.text(min_size=1))
def test_whatever_stands_for_an_id_becomes_one_and_stays_it(text: str) -> None:
    made = as_id(text)

    assert is_id(made) and as_id(made) == made
    assert made == text if is_id(text) else is_made_of_another(made)


@given(st.text())
def test_whatever_stands_for_a_line_becomes_one_and_shows_what_it_hides(text: str) -> None:
    line = as_line(text)

    assert "\n" not in line and "\t" not in line and not HIDDEN.search(line)
    assert len(line) <= MAX_LINE_CHARS and as_line(line) == line


FIELDS = ("id", "parent", "message_id", "session_id", "agent", "time", "cwd", "branch", "version")
CHANGES = st.tuples(st.sampled_from(FIELDS), st.sampled_from(["", "b-1", "a b", "a\nb"]), st.booleans())


@given(st.lists(CHANGES, max_size=8))
def test_what_repeats_is_held_to_it_like_the_first(changes: list[tuple[str, str, bool]]) -> None:
    plain = Entry(id="e1", parent="e1", message_id="m1", session_id="s1", cwd="/srv", time="t")
    grammar = Grammar()

    for name, text, is_said in changes:
        parts = (EntryPart(PartKind.PROMPT, "said"),) if is_said else ()
        entry = msgspec.structs.replace(plain, **{name: text}, parts=parts)
        held = grammar.hold(entry)
        wanted = as_id(text) if name in FIELDS[:5] else as_line(text)
        assert getattr(held, name) == wanted or (name not in ("id", "parent") and not is_said)


def test_a_folder_of_any_script_stays_as_it_is() -> None:
    assert as_line("/srv/Bücher & Töne/日本語  two blanks") == "/srv/Bücher & Töne/日本語  two blanks"


def test_calls_and_parents_are_found_by_ids_that_are_none() -> None:
    odd: list[Record] = [
        person(1, "go", uuid="a|b"),
        assistant(2, call("Re\nad", "call|1", file="x"), parentUuid="a|b"),
        result(3, "call|1", "done"),
    ]

    first, second, third = entries_of(to_lines(*odd))

    assert second.parent == first.id and is_id(first.id)
    assert second.parts[0].call_id == third.parts[0].call_id and is_id(third.parts[0].call_id)
    assert second.parts[0].tool == r"Re\u000aad"


def test_no_field_beside_the_words_holds_more_than_its_grammar() -> None:
    bad = "x\n# y\u202e"
    odd = person(1, "go", uuid=bad, parentUuid=bad, sessionId=bad, cwd=bad, gitBranch=bad, version=bad, timestamp=bad)
    title: Record = {"type": "ai-title", "aiTitle": bad, "sessionId": bad}

    entries = entries_of(to_lines(odd | {"agentId": bad}, assistant(2, "said", message_id=bad), title))

    ids = [one for e in entries for one in (e.id, e.parent, e.session_id, e.agent, e.message_id)]
    assert all(is_id(one) for one in ids if one)
    lines = [line for e in entries for line in (e.cwd, e.branch, e.version, e.time)] + [entries[2].parts[0].text]
    assert r"x\u000a# y\u202e" in lines and not [line for line in lines if "\n" in line or HIDDEN.search(line)]


def test_a_rule_of_a_person_holds_for_a_folder_with_a_hidden_mark() -> None:
    folder = "/srv/\u200dfamily"

    assert not Choice(deny=(folder,)).takes("", as_line(f"{folder}/notes"))
