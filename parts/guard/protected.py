"""What a tool of the assistant may not do: write what is the person's, or run a command by which a person decides.

Decided without a daemon, on the standard library alone, in front of every editing tool and shell command. It keeps an
assistant on the path through proposals; it is no wall against a program that means harm, which `docs/security.md`
says, and why every session start names the changes that no acceptance explains.

One rule: a command that names anything of the person's, or the program by which they decide, is free only where each of
its steps surely reads, and what it prints goes elsewhere. Any other command is free unless it removes or replaces a
folder that holds what is the person's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from parts.guard.commands import PERSON_DENIED, names_decision, person_words
from parts.guard.places import Denied, Guarded
from parts.guard.reading import REPLACING, find_program, list_replaced, only_reads
from parts.guard.shell import (
    COMMENT,
    SimpleCommand,
    Unreadable,
    drop_first_comments,
    is_plain,
    join_lines,
    read_escapes,
    replace_variables,
    split_roughly,
    split_steps,
    take_substitutions,
)

EDITORS = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
MAX_CHARS = 1 << 15  # of a command that names anything of ours; an ordinary one has a few thousand at most
QUOTED_SCRIPT = re.compile(r"[\s`]")  # in a word, which some programs run
FOLDER_OPTIONS = ("cd", "pushd", "-C")
MESSAGED = (["git", "commit"], ["gh", "pr"], ["gh", "issue"])
MESSAGE_OPTIONS = ("-m", "-am", "-qm", "--message", "--title", "--body")
PROSE = re.compile(r"\$\(cat <<'(\w+)'\n(?:(?!\1\n)[^\n]*\n)*\1\n\s*\)|[^$`]*")  # also as the client writes it

UNCLEAR = (
    "This command names the person's memory, or what they decide with, and not all of it surely only reads: {what}. "
    "Read with plain commands, or with Read, Grep and read_memory; write other files with an editor."
)


def reason_to_deny(
    tool: str, arguments: Mapping[str, object], folder: str, roots: Sequence[str], variables: Mapping[str, str]
) -> str:
    """Why a tool call may not be; empty where it may. `roots`: the memories that take effect for this person."""
    guarded = Guarded(roots, variables)
    subject = arguments.get(EDITORS.get(tool, "command"))
    if not isinstance(subject, str) or tool not in {*EDITORS, "Bash"}:
        return ""
    subject = subject.encode("utf-8", "replace").decode()  # half a character names no file, and must not end the guard
    try:
        if tool == "Bash":
            _check_command(guarded, drop_first_comments(subject), folder, variables)
        else:
            guarded.check_file(subject.strip(), folder)  # the client's editors pass over space around a path
    except Denied as reason:
        return str(reason)
    return ""


def _check_command(guarded: Guarded, text: str, folder: str, variables: Mapping[str, str]) -> None:
    """Raises Denied."""
    text = read_escapes(text)
    joined = join_lines(text)
    try:
        if len(text) > MAX_CHARS or COMMENT.search(text):
            raise Unreadable
        steps = split_steps(joined)
        _take_out_messages(steps, joined)
    except Unreadable:
        steps = split_roughly(f"{text}\n{joined}")
    replace_variables(steps, {**variables, "PWD": folder})
    plain = " ".join(word for step in steps for word in (*step.words, *step.targets))
    if names_decision(plain) or any(guarded.is_named(plain, one) for one in _folders(guarded, steps, folder)):
        _check_reads(guarded, joined, folder)
    else:
        _check_removals(guarded, steps, folder)


def _take_out_messages(steps: Sequence[SimpleCommand], text: str) -> None:
    """Takes the prose out of commits and requests, where it surely is: a document may open its quote."""
    prose = [
        (step, word)
        for step in steps
        for option, word in pairwise(step.words[1:])
        if step.words[:2] in MESSAGED and option in MESSAGE_OPTIONS and " " in word and PROSE.fullmatch(word)
    ]
    if text.count("<<") == sum(word.count("<<") for _, word in prose):
        for step, word in prose:
            step.words.remove(word)


def _folders(guarded: Guarded, steps: Sequence[SimpleCommand], folder: str) -> Iterator[str]:
    """The folder in which a command runs, and those that it enters."""
    yield folder
    for step in steps:
        for place, option in enumerate(step.words):
            if option in FOLDER_OPTIONS:
                word = next((word for word in step.words[place + 1 :] if not word.startswith("-")), "~")
                folder = os.path.join(folder, guarded.at_home(word))
                yield folder


def _check_reads(guarded: Guarded, text: str, folder: str) -> None:
    """Raises Denied unless each step of a command surely reads, also those of its substitutions."""
    if len(text) > MAX_CHARS:
        raise Denied(UNCLEAR.format(what="it is too long"))
    try:
        outer, inner = take_substitutions(text)
        scripts = [(script, split_steps(script)) for script in (outer, *inner)]
    except Unreadable:
        raise Denied(UNCLEAR.format(what="nobody can tell where its quotes end")) from None
    if not all(is_plain(script) for script, _ in scripts):
        raise Denied(UNCLEAR.format(what="it holds a document, a comment or an unusual `$`"))
    steps = [step for _, of_script in scripts for step in of_script]
    has_moved = any(option in step.words for step in steps for option in FOLDER_OPTIONS)
    for step in steps:
        _check_step(guarded, step, "" if has_moved else folder)


def _check_step(guarded: Guarded, step: SimpleCommand, folder: str) -> None:
    """Raises Denied unless a step surely reads. `folder`: in which it runs, empty where nobody can tell."""
    program, *rest = words = find_program(step.words)
    if os.path.basename(program) == "oneiros":
        if command := person_words(rest):
            raise Denied(PERSON_DENIED.format(words=command))
        is_reading = "xargs" not in step.words and rest[:1] != ["export"]
    else:
        is_reading = only_reads(words, is_fed_words="xargs" in step.words)
    if not is_reading:
        raise Denied(UNCLEAR.format(what=f"`{' '.join(step.words)[:80]}`"))
    for target in step.targets:
        guarded.check_word(target, folder)
        is_clear = not {"$", "!"} & {*target} and (folder or target.startswith(("/", "~/")))
        if not is_clear and not target.isdecimal():
            raise Denied(UNCLEAR.format(what=f"it writes to {target}, which may be anything"))


def _check_removals(guarded: Guarded, steps: Sequence[SimpleCommand], folder: str) -> None:
    """Raises Denied where a folder is removed or replaced that holds what is the person's, in a script within too."""
    for step in steps:
        within = " ".join(step.words) if any(QUOTED_SCRIPT.search(word) for word in step.words) else ""
        for words in (step.words, *(one.words for one in split_roughly(within))):
            for place, word in enumerate(words):
                program = os.path.basename(word)
                for path in list_replaced(program, words[place + 1 :]) if program in REPLACING else ():
                    guarded.check_whole(path, folder)
                    guarded.check_pattern(path, folder)
        folder = list(_folders(guarded, [step], folder))[-1] if step.words[:1] in (["cd"], ["pushd"]) else folder
