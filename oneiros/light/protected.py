"""What a tool of the assistant may not do: write approved files, or run a command by which a person accepts.

Decided without a daemon, on the standard library alone, in front of every editing tool and shell command. It keeps an
assistant on the path through proposals; it is no wall against a program that means harm, which `docs/security.md`
says, and why every session start names the changes that no acceptance explains.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from oneiros.light.endpoint import states_folder

APPROVED = ("topics", "lessons.md", "MEMORY.md", "proposals")  # below a memory root; a person's yes alone changes them
EDITORS = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
ACCEPTING = frozenset({"review", "apply", "accept", "adopt", "revert", "trust"})  # behind `oneiros` or `oneiros dream`
READING = frozenset(
    "ls cat head tail less more bat grep egrep fgrep rg ag wc diff cmp stat file du tree md5sum sha256sum sort uniq "
    "cut nl realpath readlink basename dirname cd pushd test [ echo printf true jq awk oneiros code".split()
)
GIT_READING = frozenset("log diff show status blame ls-files grep shortlog rev-parse cat-file describe".split())
GIT_OPTIONS = frozenset({"-C", "-c", "--git-dir", "--work-tree"})
WRAPPERS = frozenset("sudo env command exec nohup time nice xargs then do else ! {".split())
RUNNERS = WRAPPERS | frozenset(
    "uv uvx pipx poetry hatch script python python3 expect setsid unbuffer timeout bash sh zsh ssh doas su".split()
)
GUARDED_WORD = re.compile(r"\boneiros\b|topics|lessons|MEMORY|proposals")
SEPARATOR = frozenset({";", "&&", "||", "|", "&", "|&", "(", ")", "\n", ";;"})
WRITES_TO = re.compile(r"^\d*(?:>>?\|?|&>>?|<>)$")
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")

WRITE_DENIED = (
    "{path} is approved memory (rank 1): a person's acceptance alone changes it. Make a proposal with "
    "propose_promotion (or /oneiros:remember); the person accepts it with `oneiros review` in a terminal of their own."
)
ACCEPT_DENIED = "`oneiros {word}` is for the person alone. Tell them to run it in a terminal of their own."


def reason_to_deny(
    tool: str, arguments: Mapping[str, object], folder: str, roots: Sequence[str], variables: Mapping[str, str]
) -> str:
    """Why a tool call may not be; empty where it may. `roots`: the memories that take effect for this person."""
    if key := EDITORS.get(tool):
        path = arguments.get(key)
        hit = protected_path(path, folder, roots, variables) if isinstance(path, str) else ""
        return WRITE_DENIED.format(path=hit) if hit else ""
    command = arguments.get("command")
    if tool != "Bash" or not isinstance(command, str):
        return ""
    return _reason_in_command(command, folder, roots, variables)


def protected_path(path: str, folder: str, roots: Sequence[str], variables: Mapping[str, str]) -> str:
    """The path itself, resolved, where it lies in the approved part of a memory or the person's state; else empty."""
    path = _expanded(path, variables)
    whole = os.path.realpath(os.path.join(folder, path))
    pattern = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
    places = [os.path.join(os.path.realpath(root), name) for root in roots for name in APPROVED]
    for guarded in (*places, os.path.realpath(states_folder(variables))):
        for one in (whole, pattern):
            if one == guarded or one.startswith(guarded + os.sep):
                return one
    return ""


def _reason_in_command(command: str, folder: str, roots: Sequence[str], variables: Mapping[str, str]) -> str:
    for words in _simple_commands(command):
        if words and words[0] in ("cd", "pushd") and len(words) > 1:
            folder = os.path.join(folder, _expanded(words[1], variables))
            continue
        if word := _accepting_word(words):
            return ACCEPT_DENIED.format(word=word)
        for path in _written(words):
            if hit := protected_path(path, folder, roots, variables):
                return WRITE_DENIED.format(path=hit)
            if any(mark in path for mark in "*?[") and (hit := _matched(path, folder, roots, variables)):
                return WRITE_DENIED.format(path=hit)
    return ""


def _simple_commands(command: str) -> Iterator[list[str]]:
    """The words of each simple command, in order, also of those in `$( )`, backquotes and `sh -c`."""
    lexer = shlex.shlex(command.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if word in SEPARATOR:
                yield from _with_nested(words)
                words = []
            else:
                words.append(word)
    except ValueError:  # an open quotation, such as in a here-document: word by word is better than not at all
        words = re.split(r"[\s'\"]+", command)
        yield words
        return
    yield from _with_nested(words)


def _with_nested(words: list[str]) -> Iterator[list[str]]:
    """A simple command, and those that its words hold, unless it only prints or searches them."""
    yield words
    is_text = not words or os.path.basename(words[0]) in (READING | {"git"})
    for word in words:
        for inner in re.findall(r"\$\(([^()]*)\)|`([^`]*)`", word):
            yield from _simple_commands(inner[0] or inner[1])
        if not is_text and " " in word and GUARDED_WORD.search(word):
            yield from _simple_commands(word.replace("'", " ").replace('"', " "))


def _accepting_word(words: Sequence[str]) -> str:
    for place, word in enumerate(words[:-1]):
        is_module = words[max(0, place - 1)] == "-m" and word.startswith("oneiros")
        if (os.path.basename(word) == "oneiros" and _is_run_by(words[:place])) or is_module:
            behind = [one for one in words[place + 1 :] if not one.startswith("-")]
            if behind[:1] == ["dream"]:
                behind = behind[1:]
            if behind and behind[0] in ACCEPTING:
                return behind[0]
    return ""


def _is_run_by(before: Sequence[str]) -> bool:
    """Whether what stands before a program's name only runs it."""
    rest = [word for word in before if not re.fullmatch(r"\w+=.*", word)]
    return not rest or os.path.basename(rest[0]) in RUNNERS


def _written(words: Sequence[str]) -> Iterator[str]:
    """What a simple command may write: the targets of its redirections, and, unless it only reads, its arguments."""
    for place, word in enumerate(words[:-1]):
        if WRITES_TO.match(word) or word in (">", ">>", ">|", "&>", "&>>"):
            yield words[place + 1]
    plain = [word for word in words if "=" not in word or "/" not in word.partition("=")[0]]
    while plain and (plain[0] in WRAPPERS or re.fullmatch(r"\w+=.*", plain[0])):
        plain = plain[1:]
    if not plain or _only_reads(plain):
        return
    for word in plain[1:]:
        yield word
        if "=" in word:
            yield word.partition("=")[2]
        yield from re.findall(r"[\w~./${}-]+", word) if re.search(r"[\s()'\"]", word) else ()


def _only_reads(words: Sequence[str]) -> bool:
    program = os.path.basename(words[0])
    if program == "git":
        arguments = iter(words[1:])
        for word in arguments:
            if word in GIT_OPTIONS:
                next(arguments, None)
            elif not word.startswith("-"):
                return word in GIT_READING
        return True
    if program == "find":
        return not {"-delete", "-exec", "-execdir", "-ok", "-fprint", "-fprintf"} & set(words)
    if program == "sed":
        return not any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in words[1:])
    return program in READING


def _matched(path: str, folder: str, roots: Sequence[str], variables: Mapping[str, str]) -> str:
    """A protected file that a pattern of the shell names."""
    import glob  # noqa: PLC0415  seldom needed, and a hook pays for every import

    whole = os.path.join(folder, _expanded(path, variables))
    for found in glob.iglob(whole):
        if hit := protected_path(found, folder, roots, variables):
            return hit
    return ""


def _expanded(path: str, variables: Mapping[str, str]) -> str:
    path = path.replace("\0", "")  # no file has it in its name, and the system refuses to look
    return os.path.expanduser(VARIABLE.sub(lambda match: variables.get(match[1] or match[2], match[0]), path))
