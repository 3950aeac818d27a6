"""A name in a prompt about which earlier sessions of the project settled something: one line, by the name alone.

What a session said never reaches the model unasked (hooks inject layer 1 alone), but that there is something to recall
may: the name is the prompt's own. A name is what only code, files and services are called by, or what stands in
backticks; common words would be told of in every prompt.
"""

import re

from memory_server.memory import Memory

SETTLING = ("decision", "preference")  # types of lines; lessons name whatever failed once
NAME = re.compile(
    r"`(?P<quoted>(?![A-Z]+\.md)(?=[^`\s]*[_.]|[^`\s]*[a-z][A-Z])[^`\s]{4,60})`"
    r"|(?<![\w/.-])(?P<plain>[A-Za-z]\w*_\w+|[a-z]+(?:[A-Z]\w*)+"
    r"|(?![A-Z]+\.md|package\.json)[\w-]+\.(?:py|ts|tsx|js|go|rs|rb|java|sql|toml|ya?ml|json|sh|css|md))(?![\w/])"
)  # files such as README.md stand in every project
MOST_NAMES = 8  # of one prompt
LINES = 5  # that hold the words of a name
SETTLED = "Earlier sessions settled something about `%s`: recall it."


def find_settled_name(memory: Memory, prompt: str, project: str) -> str:
    """The first name in a prompt that stands, letter by letter, in a line of a session that settled something.

    Empty where none does, or the project is not known.
    """
    if not project:
        return ""
    names = dict.fromkeys(match["quoted"] or match["plain"] for match in NAME.finditer(prompt))
    return next((name for name in list(names)[:MOST_NAMES] if _is_settled(memory, name, project)), "")


def _is_settled(memory: Memory, name: str, project: str) -> bool:
    whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    lines = memory.typed_lines.find([name], SETTLING, [project], LINES)
    return any(whole.search(line.text) for line in lines)
