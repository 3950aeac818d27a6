"""The chats of a public benchmark as transcripts, and what an answer is counted to show of their decisions."""

import json
from pathlib import Path

from benchmarks.sde import TASKS, Task, count_answers, count_promoted, read_tasks, share_held, write_chats
from crawler.quotes import Quote
from crawler.transcripts.turns import Role
from dream.records import Candidate, Kind

CHATS = [(("user", "Cap it at 60 seconds."), ("assistant", "Settled: 60.")), (("user", "Cap it at 30 seconds now."),)]
CAPPED = [["30", "thirty"], ["seconds"]]
TASK = Task("cap", {"question": "what caps it"}, CAPPED, "a cap of 5", "never 5", ["60"], CHATS)


def test_decisive_words_are_whole_words_in_any_case() -> None:
    assert share_held(TASK.decisive, "THIRTY\n seconds") == 1
    assert share_held(TASK.decisive, "at 3000 Seconds") == 0.5
    assert share_held([['="00042"']], 'written as ="00042"') == 1


def test_an_old_rule_counts_where_nothing_that_decides_stands_before_it() -> None:
    found = count_answers([TASK] * 3, ["30 seconds, not 60", "60, amended 30 seconds", "60 seconds"])

    assert (found["amended"], found["old first"], found["unmarked"]) == (3, 2, 2)


def test_what_was_turned_down_counts_where_its_no_is_not_shown() -> None:
    found = count_answers([TASK] * 3, ["a cap  of 5. Never 5.", "A cap of 5", "30"])

    assert (found["refused shown"], found["without no"]) == (2, 1)


def test_a_chat_that_is_amended_lies_before_all_others(tmp_path: Path) -> None:
    write_chats(tmp_path, [TASK], [(("user", "Hello."),)])

    days = {
        row["message"]["content"]: row["timestamp"]
        for file in tmp_path.iterdir()
        for row in map(json.loads, file.read_text("utf-8").splitlines())
        if row["type"] == "user"
    }
    assert min(days, key=lambda text: days[text]) == "Cap it at 60 seconds." and len(days) == 3


def test_of_what_is_promoted_decisions_decoys_and_old_rules_are_counted() -> None:
    first, last, decoy = *CHATS, (("user", "Hello."),)
    sessions = {first: "a", last: "b", decoy: "c"}

    def offer(session: str, text: str) -> Candidate:
        quote = Quote(session, "entry", Role.PERSON, None, 0, len(text), text)
        return Candidate(text, Kind.RULE, (quote,), 0.8, "", "")

    all_offered = count_promoted([TASK], sessions, [offer("a", "At 60."), offer("b", "30 s."), offer("c", "Hello.")])
    right = count_promoted([TASK], sessions, [offer("b", "The cap is 30 seconds.")])

    assert (all_offered["decisions"]["whole"], all_offered["amended"]["old offered"]) == (0, 1)
    assert all_offered["decoys"]["offered"][0] == 1 and all_offered["statements"]["offered"] == 3
    assert (right["decisions"]["whole"], right["amended"]["old offered"], right["decoys"]["offered"][0]) == (1, 0, 0)


def test_each_task_is_read_with_its_report_and_chats(tmp_path: Path) -> None:
    names = [line.split("\t")[0] for line in TASKS.read_text("utf-8").splitlines()[1:]]
    for name in names:
        folder = tmp_path / f"boltons-{name}" / "tasks" / "main"
        folder.mkdir(parents=True)
        chat = [{"role": "user", "text": name}]
        chats = [chat, chat] if name.endswith("-amended") else chat
        (folder / "task.json").write_text(json.dumps({"bug_report": "It breaks.", "conversations": chats}), "utf-8")

    tasks = read_tasks(tmp_path)

    assert [task.name for task in tasks] == names and len(names) == 27
    assert sum(len(task.chats) == 2 for task in tasks) == sum(bool(task.old) for task in tasks) == 6
    assert all(task.decisive and task.questions["question"].endswith("?") for task in tasks)
