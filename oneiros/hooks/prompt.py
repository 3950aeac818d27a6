"""UserPromptSubmit: which topics bear on what the person asks, and what they may be asking the memory itself.

What a session said never reaches the model unasked (hooks inject layer 1 alone), but that there is something to recall
may: a name in a prompt about which earlier sessions of the project settled something is told of in one line. A name is
what only code, files and services are called by, or what stands in backticks; common words would be told of in every
prompt.
"""

import re

from memory_server.memory import Memory
from oneiros.hooks.call import NOTHING, HookAnswer, HookCall, both_ends, tag_lines
from oneiros.hooks.pointers import find_pointers
from oneiros.hooks.whereabouts import whereabouts

MAX_POINTERS = 1  # the nearest; a second one was right less often, see benchmarks/RESULTS.md
MAX_PROMPT_CHARS = 2_000  # from its beginning and its end: a pasted file says little of what is asked
LEAST_WORDS = 2  # `yes`, `go on` are no questions
MAX_BYTES = 2_000  # some 500 tokens

REMEMBER = re.compile(
    r"^\W*(?:please\s+)?(?:remember|note|keep in mind|don'?t forget|merk(?:e)? dir|notier\w*)\b", re.IGNORECASE
)
BEFORE = re.compile(
    r"\b(?:what|when|why|how|where|which)\b[^.?!\n]{0,40}\b(?:did|have|had|was|were)\s+(?:we|i|you)\b"
    r"|\b(?:last (?:time|session|week)|previous(?:ly| session)|yesterday|we (?:agreed|decided|discussed|talked))\b",
    re.IGNORECASE,
)
TO_REMEMBER = "The person may want this remembered: /oneiros:remember makes a proposal of it, in their own words."
TO_RECALL = "This asks about earlier sessions: recall finds them, and with include_raw the turns themselves."
COMMANDS = ("/oneiros:remember", "/oneiros:capture")  # a proposal of what was just said
HEAD = "Approved topics on this (rank 1; read_memory reads on):"
SETTLING = ("decision", "preference")  # types of lines; lessons name whatever failed once
NAME = re.compile(
    r"`(?P<quoted>(?![A-Z]+\.md)(?=[^`\s]*[_.]|[^`\s]*[a-z][A-Z])[^`\s]{4,60})`"
    r"|(?<![\w/.-])(?P<plain>[A-Za-z]\w*_\w+|[a-z]+(?:[A-Z]\w*)+"
    r"|(?![A-Z]+\.md|package\.json)[\w-]+\.(?:py|ts|tsx|js|go|rs|rb|java|sql|toml|ya?ml|json|sh|css|md))(?![\w/])"
)  # files such as README.md stand in every project
MOST_NAMES = 8  # of one prompt
LINES = 5  # that hold the words of a name
SETTLED = "Earlier sessions settled something about `%s`: recall it."


def answer_prompt(memory: Memory, call: HookCall, shown_before: set[str], max_bytes: int) -> HookAnswer:
    """Pointers to topics that the session has not been shown, and a line for what is recognised."""
    asks = call.prompt.strip()
    if not asks or asks.startswith(("/", "!", "#", "<")):
        return NOTHING  # a command says itself what it needs
    constant = [
        (key, line) for key, line, is_meant in _recognise_requests(asks) if is_meant and key not in shown_before
    ]
    pointers = []
    if len(asks.split()) >= LEAST_WORDS:
        project = whereabouts(call.folder, memory.root, memory.person).project
        found = find_pointers(memory, both_ends(asks, MAX_PROMPT_CHARS, " "), project)
        pointers = [pointer for pointer in found if pointer.key not in shown_before][:MAX_POINTERS]
        name = "" if found else find_settled_name(memory, both_ends(asks, MAX_PROMPT_CHARS, " "), project)
        constant += [(name, SETTLED % name)] if name and name not in shown_before else []
    lines = [line for _, line in constant]
    if pointers:
        lines += [HEAD, *(pointer.line for pointer in pointers)]
    context = tag_lines(lines, min(max_bytes, MAX_BYTES))
    keys = (*(key for key, _ in constant), *(pointer.key for pointer in pointers if pointer.line in context))
    return HookAnswer(context, keys=keys) if context else NOTHING


def asks_to_remember(prompt: str) -> bool:
    """Whether the person wants something remembered, so that their words are wanted in the archive at once."""
    return prompt.startswith(COMMANDS) or bool(REMEMBER.search(prompt))


def _recognise_requests(prompt: str) -> list[tuple[str, str, bool]]:
    return [
        ("asks to remember", TO_REMEMBER, bool(REMEMBER.search(prompt))),
        ("asks of before", TO_RECALL, bool(BEFORE.search(prompt))),
    ]


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
