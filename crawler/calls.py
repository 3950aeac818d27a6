"""Calls of tools, told in few words: the command, the line that says what went wrong, and what then worked."""

import re
from collections.abc import Sequence

from crawler.facts import EDITORS, parse_arguments
from crawler.transcripts.turns import Turn
from memory_server.escaping import clip
from memory_server.language.sentences import without_markup

COMMAND_CHARS = 100
NOT_RUN = re.compile(
    r"The user doesn't want|<tool_use_error>|Sibling tool call"
)  # a call that the person or the client stopped
FOLDER = re.compile(r"^cd [^&;\n]*(?:&&|;)\s*")
FILTERS = re.compile(r"\s*<<.*|\s*2>(?:&1|\s*/dev/null)|\s*\|\s*(?:head|tail|grep|tee|jq)\b[^\n]*")
READING = frozenset(
    "awk cat echo find git grep head ls pwd rg sed sleep tail tree wc which".split()
)  # no way of working
ERROR_LINE = re.compile(
    r"(?:error|exception|fail(?:ed|ure)|cannot|not found|denied|undefined|refused|panic|fatal|✗|×)", re.IGNORECASE
)


def find_other_ways(turns: Sequence[Turn]) -> dict[int, Turn]:
    """Of commands that failed, by their place, the next of the same program, where it is another and succeeded."""
    failed: dict[str, int] = {}
    found: dict[int, Turn] = {}
    for place, turn in enumerate(turns):
        program = find_program(turn)
        if not program or program.split()[0] in READING:
            continue
        before = failed.pop(program, None)
        if turn.is_error and not NOT_RUN.match(turn.text):
            failed[program] = place
        elif before is not None and not turn.is_error and find_command(turn) != find_command(turns[before]):
            found[before] = turn
    return found


def find_fix(turns: Sequence[Turn], place: int) -> Turn | None:
    """What made the failed call at `place` good: the next edit, or the next call of the same tool that succeeds."""
    failed = turns[place]
    for turn in turns[place + 1 : place + 25]:
        if (turn.tool in EDITORS and not turn.is_error) or (turn.tool == failed.tool and not turn.is_error):
            return turn
    return None


def find_command(turn: Turn) -> str:
    """A shell command as one would type it again: its first line, without the folder before and the filters behind."""
    command = parse_arguments(turn).get("command")
    if not isinstance(command, str):
        return ""
    return clip(without_markup(FILTERS.sub("", FOLDER.sub("", command.strip()).partition("\n")[0])), COMMAND_CHARS)


def find_program(turn: Turn) -> str:
    """A program with its sub-command: what a command that failed and the one that worked have in common."""
    return " ".join([word for word in find_command(turn).split() if "=" not in word][:2])


def error_line(text: str) -> str:
    """The line of a failed call's output that says what went wrong."""
    lines = [without_markup(line) for line in text.splitlines() if len(line.strip()) > 8]
    return next((line for line in lines if ERROR_LINE.search(line)), lines[0] if lines else "")
