"""What programs write: a table of those that an assistant runs, and what each is taken to write by its words.

A program that stands in no table is taken to write whatever it is given. What it writes is a pair of a kind and a path:
    file    that file, or below it
    tree    that file or folder, with all that it holds
    into    files of unknown names below that folder
    given   that file, or below it; a memory as a whole where it is written as a path
    piece   the same, of a part of a word
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch

TYPE_CHECKING = False  # as in typing, whose import alone costs a hook more than all it does
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Written = Iterator[tuple[str, str]]

READING = frozenset(
    "ls cat head tail less more bat grep egrep fgrep rg ag wc diff cmp comm join stat file du df tree md5sum sha1sum "
    "sha256sum sha512sum cksum shasum md5 b2sum sort shuf uniq cut paste tr nl od hexdump strings tac rev fold column "
    "realpath readlink basename dirname pwd test [ [[ : echo printf true false jq zcat zgrep zless which type hash "
    "export local declare typeset readonly unset read set shift return exit break continue wait sleep seq case esac in "
    "date for select code open xdg-open man oneiros".split()
)
TEXT = frozenset("git gh glab curl wget".split())  # what they are given is text, no script
SHELLS = frozenset("sh bash zsh dash ksh fish source . at batch crontab".split())
INTERPRETERS = re.compile(
    r"(?:python|pypy|perl|ruby|node|php|lua)[\d.]*|deno|bun|tclsh|expect|osascript|make|ed|ex|vim?|emacs"
)
DECLARING = frozenset("export local declare typeset readonly".split())
DEFINING = frozenset({"alias", "trap"})  # a script to run later
TAKING = frozenset({"xargs", "parallel"})  # words from the step before
FILLING = frozenset("read mapfile readarray unset printf getopts".split())  # variables with what nobody can tell
KEYWORDS = frozenset("then do else elif if while until ! { } coproc function".split())
# What runs the program behind it: the letters of its options that take a word.
RUNNERS = dict(
    one.partition(":")[::2]
    for one in (
        "command builtin nohup setsid unbuffer busybox chronic uvx sudo:ugCDhprtTU doas:uC env:uC exec:a nice:n "
        "time:fo ionice:cnp timeout:sk stdbuf:ioe caffeinate:tw watch:n xargs:aEeIiLlnPsd parallel:jI"
    ).split()
)
GIT_READING = frozenset(
    "log diff show status blame ls-files ls-tree grep shortlog rev-parse rev-list cat-file describe branch tag remote "
    "fetch reflog help for-each-ref merge-base check-ignore count-objects fsck whatchanged".split()
)
GIT_WITH_WORD = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
GIT_FOLDERS = re.compile(r"(?:--git-dir|--work-tree)=(.*)")
OUTPUT = {"sort": "o", "shuf": "o", "tree": "o", "less": "oO"}  # letters of options that name what is written
BETWEEN = re.compile(r"[=:,;@|<>&()'\"\[\]{}\s]+")
AWK_WRITES = re.compile(r"printf?\b[^;}]*>|\bsystem\s*\(|\|\s*[\"\w]|\binplace\b")
SED_WRITES = re.compile(r"(?:^|[\s;/}\d$!=])[wW]\s*([/~.\w][^;\n]*)")
FOUND = ("MEMORY.md", "lessons.md", "topics", "memory", "proposals", "approvals.jsonl", "config.toml")


def written(program: str, words: Sequence[str]) -> Written:
    """What a program writes, by the words behind its name."""
    return TABLE.get(program, _reads if program in READING else _unknown)(program, words)


def takes_scripts(program: str) -> bool:
    """Whether a word with spaces may be a script that a program runs."""
    is_known = program in READING or program in TEXT or program in TABLE or INTERPRETERS.fullmatch(program)
    return not is_known or program in ("find", "fd", "tar")


def operands(words: Sequence[str], with_word: str = "") -> list[str]:
    """The words that are no options; `with_word`: letters of options that take the next word."""
    found: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word == "--":
            found += waiting
        elif not word.startswith("-") or word == "-":
            found.append(word)
        elif not word.startswith("--") and word[-1] in with_word:
            next(waiting, None)
    return found


def option_values(words: Sequence[str], letters: str, *names: str) -> Iterator[str]:
    """What options are given: `-o X`, `-oX`, `-uo X`, `--output X`, `--output=X`."""
    for place, word in enumerate(words):
        behind = words[place + 1] if place + 1 < len(words) else ""
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            if name in names:
                yield value or behind
        elif word.startswith("-"):
            found = re.search(f"[{letters}]", word[1:]) if letters else None
            if found:
                yield word[1 + found.end() :] or behind


def _unknown(program: str, words: Sequence[str]) -> Written:
    for word in words:
        yield "given", word
        if word.startswith("-") and "/" in word:
            yield "given", word.lstrip("-")[1:]
        if BETWEEN.search(word) and not (program in TEXT and " " in word):
            for piece in BETWEEN.split(word):
                yield "piece", piece


def _reads(program: str, words: Sequence[str]) -> Written:
    for value in option_values(words, OUTPUT.get(program, ""), "output", "log-file"):
        yield "file", value
    for word in operands(words, "fsw")[1:2] if program == "uniq" else ():
        yield "file", word
    if program == "oneiros" and "export" in words:
        yield from _writes(program, words)


def _writes(program: str, words: Sequence[str]) -> Written:  # noqa: ARG001
    for word in operands(words):
        yield "file", word


def _removes(program: str, words: Sequence[str]) -> Written:  # noqa: ARG001
    for word in operands(words):
        yield "tree", word


def _copies(program: str, words: Sequence[str]) -> Written:
    flags = "".join(word[1:] for word in words if re.fullmatch(r"-\w+", word))
    sources = operands(words, "tSgom" if program == "install" else "tS")
    folders = list(option_values(words, "t", "target-directory"))
    if not folders and len(sources) > 1:
        folders = [sources.pop()]
    is_taken = program == "mv" or "--remove-source-files" in words
    is_link = "l" in flags or "s" in flags or "--link" in words or "--symbolic-link" in words
    for source in sources:
        if is_taken:
            yield "tree", source
        if is_link and program == "cp":
            yield "given", source
    for folder in folders:
        yield "file", folder
        if "T" in flags or "--no-target-directory" in words:
            yield "tree", folder
        for source in sources:
            if program == "rsync" and source.endswith("/"):
                yield "tree", folder
            else:
                yield "tree", os.path.join(folder, os.path.basename(source.rstrip("/")))


def _unpacks(program: str, words: Sequence[str]) -> Written:
    yield "into", "."
    yield from _unknown(program, words)


def _tar(program: str, words: Sequence[str]) -> Written:
    first = words[0].lstrip("-") if words else ""
    if "x" in first or {"--extract", "--get"} & set(words):
        folders = list(option_values(words, "C", "directory"))
        for folder in folders or ["."]:
            yield "into", folder
    elif "c" in first and "--remove-files" not in words:
        yield from (("file", value) for value in option_values(["-" + first, *words[1:]], "f", "file"))
    elif "t" not in first:
        yield from _unknown(program, words)


def _git(program: str, words: Sequence[str]) -> Written:
    folder, rest = ".", iter(words)
    for word in rest:
        if word in GIT_WITH_WORD:
            value = next(rest, "")
            folder = os.path.join(folder, value) if word in ("-C", "--work-tree", "--git-dir") else folder
        elif match := GIT_FOLDERS.match(word):
            folder = match[1]
        elif not word.startswith("-"):
            break
    else:
        return
    arguments = list(rest)
    if word in GIT_READING or (word == "stash" and arguments[:1] in (["list"], ["show"])):
        for value in option_values(arguments, "", "output"):
            yield "file", os.path.join(folder, value)
        return
    yield "into", folder
    if word == "clean" and any(re.match(r"-\w*[xX]", argument) for argument in arguments):
        yield "tree", folder
    are_names = word in ("push", "switch") or {"-b", "-B"} & set(arguments)
    for argument in () if are_names else arguments:
        yield "given", os.path.join(folder, argument)
        if " " not in argument:
            yield from _unknown(program, [argument])


def _find(program: str, words: Sequence[str]) -> Written:
    for option in ("-fprint", "-fprintf", "-fls", "-fprint0"):
        if option in words[:-1]:
            yield "file", words[words.index(option) + 1]
    run = [
        words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-exec", "-execdir", "-ok", "-x", "-X")
    ]
    if "-delete" not in words and all(os.path.basename(one) in READING for one in run):
        return
    names = [words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-name", "-iname")]
    if program == "fd":
        yield from _unknown(program, words)
        return
    is_elsewhere = not any(name.endswith(".md") or fnmatch(one, name) for one in FOUND for name in names)
    if names and is_elsewhere:
        return
    starts = []
    for word in words:
        if word.startswith(("-", "(", "!")):
            break
        starts.append(word)
    for start in starts or ["."]:
        yield "tree", start


def _sed(program: str, words: Sequence[str]) -> Written:
    if any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in words):
        yield from _unknown(program, words)
    for word in words:
        yield from (("file", name.strip()) for name in SED_WRITES.findall(word))


def _awk(program: str, words: Sequence[str]) -> Written:
    if any(AWK_WRITES.search(word) for word in words):
        yield from _unknown(program, words)


def _dd(program: str, words: Sequence[str]) -> Written:  # noqa: ARG001
    for word in words:
        if word.startswith("of="):
            yield "file", word[3:]


def _yq(program: str, words: Sequence[str]) -> Written:
    if any(re.match(r"-[a-zA-Z]*i|--inplace", word) for word in words):
        yield from _unknown(program, words)


TABLE: dict[str, Callable[[str, Sequence[str]], Written]] = {
    **dict.fromkeys("rm rmdir unlink shred srm trash trash-put rename".split(), _removes),
    **dict.fromkeys("cp mv install rsync scp".split(), _copies),
    **dict.fromkeys("unzip cpio pax patch 7z 7za jar bsdtar".split(), _unpacks),
    **dict.fromkeys("awk gawk mawk nawk".split(), _awk),
    **dict.fromkeys("sed gsed".split(), _sed),
    **dict.fromkeys(("find", "fd"), _find),
    **dict.fromkeys(("tar", "gtar"), _tar),
    **dict.fromkeys(("tee", "touch", "truncate"), _writes),
    "dd": _dd,
    "git": _git,
    "yq": _yq,
}
