"""What a program may write, by its words: nothing, where it is one of those that read.

Few are looked at more closely: copies, archives, git, and what reads but for an option. A program that stands in no
table is taken to write whatever it is given, and in the folder it runs in.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase

from oneiros.light.shell import as_written

TYPE_CHECKING = False  # as in typing, whose import alone costs a hook more than all it does
if TYPE_CHECKING:
    from collections.abc import Sequence

READING = frozenset(
    "ls cat head tail less more bat grep egrep fgrep rg ag wc diff cmp comm join stat file du df tree md5sum sha1sum "
    "sha256sum sha512sum cksum shasum md5 b2sum sort shuf cut paste tr nl od hexdump strings tac rev fold column "
    "realpath readlink basename dirname pwd test [ [[ : echo printf true false jq yq zcat zgrep zless which type hash "
    "export local declare typeset readonly unset read set shift return exit break continue wait sleep seq case esac in "
    "date for select code open xdg-open man find fd oneiros".split()
)
TEXT = frozenset("git gh glab curl wget tee".split())  # what they are fed is text, no script
REMOVING = frozenset("rm rmdir unlink shred srm trash trash-put rename mv".split())
COPYING = frozenset("cp mv install rsync scp uniq".split())  # to their last word
SHELLS = frozenset("sh bash zsh dash ksh fish source . at batch crontab eval trap".split())
WRITING_OPTIONS = {  # of programs that read
    **dict.fromkeys(("sort", "shuf", "tree", "less"), re.compile(r"-\w*[oO].*|--(?:output|log-file).*")),
    "find": re.compile(r"-delete|-f(?:print0?|printf|ls)|-(?:exec|ok)(?:dir)?"),
    "fd": re.compile(r"-[xX]|--exec.*"),
    "yq": re.compile(r"-\w*i.*|--inplace.*"),
    "oneiros": re.compile("export"),
    "git": re.compile(r"--output.*|-c|--exec-path.*"),
}
NOT_PLAIN = re.compile(r"-\w*[tTlsS]\w*|--(?:target|no-target|link|symbolic|remove).*")  # options of a copy
# What runs the program behind it: the letters of its options that take a word.
RUNNERS = dict(
    one.partition(":")[::2]
    for one in (
        "command builtin nohup setsid unbuffer busybox chronic uvx sudo:ugCDhprtTU doas:uC env:uC exec:a nice:n "
        "time:fo ionice:cnp timeout:sk stdbuf:ioe caffeinate:tw watch:n xargs:aEIiLlnPsd parallel:jI"
    ).split()
)
ASSIGNMENT = re.compile(r"(\w+)(\+?)=(.*)", re.DOTALL)
GIT_READING = frozenset(
    "log diff show status blame ls-files ls-tree grep shortlog rev-parse rev-list cat-file describe branch tag remote "
    "fetch reflog help for-each-ref merge-base check-ignore count-objects fsck whatchanged".split()
)
GIT_WITH_WORD = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
MESSAGE = re.compile(r"-\w*[mbBdtF]|--(?:message|body|title|notes|field|data\S*)")  # options in front of a text
AWK_WRITES = re.compile(r"printf?\b[^;}]*>|\bsystem\s*\(|\|\s*[\"\w]|\binplace\b")
SED_WRITES = re.compile(r"(?:^|[\s;/}\d$!=])[wW]\s*([/~.\w][^;\n]*)")
FOUND = ("MEMORY.md", "lessons.md", "topics", "memory", "proposals", "approvals.jsonl", "config.toml", "x.md")


def name_of(word: str) -> str:
    """The name of a program as it was called."""
    return os.path.basename(as_written(word))


def place_of_program(words: Sequence[str]) -> int:
    """Where the program stands that is run in the end, behind assignments and what runs it."""
    place, with_word = 0, None
    while place < len(words):
        word = words[place]
        if with_word is not None and (word.startswith("-") or word[:1].isdigit()):
            place += len(word) == 2 and word[1] in with_word
        elif (name := name_of(word)) in RUNNERS:
            with_word = RUNNERS[name]
        elif not ASSIGNMENT.fullmatch(word):
            break
        place += 1
    return place


def operands(words: Sequence[str]) -> list[str]:
    """The words that are no options."""
    return [word for word in words if not word.startswith("-") or word == "-"]


def written(program: str, words: Sequence[str]) -> list[str]:
    """What a program may write, by the words behind its name; where it may be anything, its folder as `./` first."""
    said = operands(words)
    first = words[0].lstrip("-") if words else ""
    is_plain = not any(NOT_PLAIN.fullmatch(word) for word in words)
    if program in COPYING and (is_plain or program == "mv"):
        return ["./", *words] if program == "mv" else said[1:][-1:]
    if program in ("tar", "gtar") and "t" in first[:1]:
        return []
    if program in ("tar", "gtar") and re.match(r"\w*c\w*f|\w*f\w*c", first):
        return [word for place, word in enumerate(words) if place < 2 or word.startswith("--")]
    if program == "dd":
        return [word for word in words if word.startswith("of=")]
    if program in ("awk", "gawk", "mawk") and not any(map(AWK_WRITES.search, words)):
        return []
    if program in ("sed", "gsed") and not any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in words):
        return [name.strip() for word in words for name in SED_WRITES.findall(word)]
    if program == "git":
        return _written_by_git(words)
    if program in TEXT:
        return ["./", *_without_texts(words)]
    return [] if program in READING and not _writes_by_option(program, words) else ["./", *words]


def replaced(program: str, words: Sequence[str]) -> list[str]:
    """Folders that a program removes, moves or replaces with all that they hold."""
    said = operands(words)
    into, sources = said[1:][-1:], said[:-1]
    if program == "find" and _writes_by_option(program, words):
        names = [as_written(words[place + 1]) for place, word in enumerate(words[:-1]) if word in ("-name", "-iname")]
        if not names or any(fnmatchcase(one, name) for one in FOUND for name in names):
            return said[:1] if words[:1] == said[:1] else ["."]
    if program == "git" and "clean" in said and any(re.match(r"-\w*[xX]", word) for word in words):
        return ["."]
    if program in COPYING:
        inside = [os.path.join(folder, os.path.basename(one)) for folder in into for one in sources]
        is_whole = "--delete" in words or any(re.fullmatch(r"-\w*T\w*", word) for word in words)
        return [*inside, *(into if is_whole else ()), *(sources if program == "mv" else ())]
    return said if program in REMOVING else []


def _writes_by_option(program: str, words: Sequence[str]) -> bool:
    options = WRITING_OPTIONS.get(program)
    found = [place for place, word in enumerate(words) if options and options.fullmatch(word)]
    return any(
        not words[place].startswith(("-exec", "-ok")) or name_of("".join(words[place + 1 : place + 2])) not in READING
        for place in found
    )


def _written_by_git(words: Sequence[str]) -> list[str]:
    folder, place = "", 0
    while place < len(words) and words[place].startswith("-"):
        has_word = words[place] in GIT_WITH_WORD
        folder = words[place + 1] if words[place] == "-C" and place + 1 < len(words) else folder
        place += 1 + has_word
    command, rest = "".join(words[place : place + 1]), words[place + 1 :]
    is_reading = command in GIT_READING or (command == "stash" and rest[:1] in (["list"], ["show"]))
    if is_reading and not _writes_by_option("git", words):
        return []
    given = () if command in ("push", "switch") else rest if "-c" in words else _without_texts(rest)
    return ["./", *words[:place], *given, *(os.path.join(folder, word) for word in given)]


def _without_texts(words: Sequence[str]) -> list[str]:
    """The words that are no message, title or body."""
    return [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not MESSAGE.fullmatch(before) and " " not in word
    ]
