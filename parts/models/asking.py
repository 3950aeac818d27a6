"""A person says at their terminal which answers to their own questions are right."""

import sys

from memory_server.errors import UsageError
from memory_server.escaping import escape_line
from memory_server.layers.topics import shorten_text
from memory_server.memory import Memory
from memory_server.search.question import with_commands
from oneiros.cli.terminal.output import data, talk
from parts.models.judging import answer_now, parse_judgement, to_judge

LINE_CHARS = 150
KEYS = (
    "Type the numbers of the right ones; w: none is, and the memory knows nothing of it; m FILE: the memory knows it,"
    " in that file if you can say, and does not show it; s: skip; q: end."
)


def judge_at_terminal(memory: Memory, limit: int) -> None:
    """Goes through the questions that are not judged yet, until the end or until the person quits."""
    if not sys.stdin.isatty():
        raise UsageError("judging needs a terminal", remedy="`oneiros queries` only shows what was asked")
    waiting = to_judge(memory, limit)
    talk(f"{len(waiting)} questions are not judged. {KEYS}" if waiting else "Every logged question is judged.")
    for number, (tool, query) in enumerate(waiting, start=1):
        hits = answer_now(memory, tool, query)
        data(f"\n[{number}/{len(waiting)}] {with_commands(tool)}  {escape_line(query)}")
        for place, hit in enumerate(hits, start=1):
            passage = " ".join(hit.passage.split())
            data(
                shorten_text(
                    f"{place:>3}  {escape_line(hit.path)}:{hit.lines.first}  {escape_line(passage)}", LINE_CHARS
                )
            )
        if not hits:
            data("     (nothing is found)")
        while True:
            typed = _read_answer("Right [1, 2, w, m, s, q]? ").strip()
            judgement = parse_judgement(tool, query, hits, typed)
            if judgement or typed in ("s", "q"):
                break
            talk(KEYS)
        if judgement:
            memory.judge(judgement)
        if typed == "q":
            break


def _read_answer(question: str) -> str:
    try:
        return input(question)
    except EOFError:
        return "q"
