"""The commands that are for the person alone: those by which they decide, and those that read, run, send or pay."""

from __future__ import annotations

import re
from collections.abc import Sequence

from oneiros.light.person_only import PERSON_SETTINGS

PERSON_COMMANDS = frozenset("review apply accept adopt revert trust forget key remember wrong import gc keep".split())
FOREIGN = ("--agent", "--as", "--me")  # options of `ingest`: whose words count as the person's
ALONE = re.compile(rf"\b(?:{'|'.join(sorted(PERSON_COMMANDS - {'import'}))})\b")  # `import` is a word of Python too
OFTEN_THEIRS = (  # with some of their words
    "uninstall|chat|open|init|model|import|ingest|dream|topics|skills|episodes|publish|team|backup|archive|config"
)
PROGRAM = r"(?:bin/|(?<![\w./-])(?:\./)?)oneiros(?![\w.-])"
DECIDES = re.compile(
    rf"(?<![\w.-])oneiros(?:\s+(?:-v|--verbose))*(?:\s+(?:{ALONE.pattern}|(?:{OFTEN_THEIRS})\b)|\s*\w*[$*?[{{])|"
    r"oneiros\.cli|dream\.decisions|plugin (?:disable|uninstall|remove) oneiros|"
    r"(?<![\w.])parts(?:\.|\s+import\s+|/)(?:arranging|keeping|readings|signing|taking_over|team|tracing|uninstalling)\b"
)
FREE_TEXT = ("recall", "search", "exact", "episode", "redact")  # commands that are asked and told anything
PLAIN_WORD = re.compile(r"[\w.,:=/@+-]*")  # that no shell makes another word of
PERSON_DENIED = "`{words}` is for the person alone. Tell them to run it in a terminal of their own."


def names_decision(text: str) -> bool:
    """Whether a text names what may decide in the place of the person, by a variable or a pipe too."""
    return bool(DECIDES.search(text) or (re.search(PROGRAM, text) and ALONE.search(text)))


def person_words(words: Sequence[str]) -> str:
    """The words behind `oneiros` of a command that is for the person alone; empty where it is none."""
    operands = [word for word in words if not word.startswith("-") or word == "-"]
    if operands[:1] == ["dream"]:  # `dream --since x apply`
        operands = [word for word in operands if word in PERSON_COMMANDS] or operands
    options = set(words) if "--" not in words else set()
    is_dry = "--dry-run" in options and operands[:1] in (["forget"], ["import"], ["uninstall"], ["gc"])
    if not operands or options & {"--help", "-h"} or is_dry:
        return ""
    is_theirs = (
        operands[0] in PERSON_COMMANDS
        or not all(map(PLAIN_WORD.fullmatch, operands[:1] if operands[0] in FREE_TEXT else words))  # nobody can tell
        or operands[0] == "uninstall"  # it asks, and takes their settings and state away
        or operands[0] == "chat"  # a model is paid for, and told what the memory holds
        or operands[0] == "open"  # whoever has the link prepares decisions
        or (operands[0] == "init" and len(operands) > 1)
        or (operands[0] == "model" and any(word.startswith(("--add", "--download")) for word in options))  # what is run
        or (operands[0] == "ingest" and any(word.startswith(FOREIGN) for word in words))
        or (operands[0] == "topics" and len(operands) > 1)  # mv, merge, split; alone it lists
        or (operands[0] == "skills" and bool({"accept", "revert"} & set(operands[1:])))  # what a client may run
        or (operands[0] == "episodes" and "--delete" in options)
        or (operands[0] == "publish" and "--show" not in options)  # words of theirs leave the machine
        or (operands[0] == "team" and "--pull" in options)
        or (operands[0] == "backup" and "--restore" in options)
        or (operands[0] == "archive" and operands[1:2] in (["prune"], ["restore"]) and "--dry-run" not in options)
        or (operands[0] == "config" and len(operands) > 2 and operands[1] in PERSON_SETTINGS)
    )
    return " ".join(("oneiros", *operands[: 2 if operands[0] == "config" else 1])) if is_theirs else ""
