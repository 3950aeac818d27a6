"""What a program may write, by its words: nothing, where it is one of those that read.

Few are looked at more closely: copies, archives, git, and what reads but for an option. A program that stands in no
table is taken to write whatever it is given, and in the folder it runs in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise

from oneiros.light.shell import as_written

ANYTHING = "./"  # what it is given, and its folder
READING = frozenset(
    "ls cat head tail less more bat grep egrep fgrep rg ag wc diff cmp comm join stat file du df tree md5sum sha1sum "
    "sha256sum sha512sum cksum shasum md5 b2sum sort shuf cut paste tr nl od hexdump strings tac rev fold column "
    "realpath readlink basename dirname pwd test [ [[ : echo printf true false jq yq zcat zgrep zless which type hash "
    "export local declare typeset readonly unset read set shift return exit break continue wait sleep seq case esac in "
    "date for done fi select code open xdg-open pbcopy xclip man find fd awk gawk mawk sed gsed oneiros".split()
)
TEXT = frozenset("git gh glab curl wget tee".split())  # what they are fed is text, no script
FED_ORDERS = re.compile(r"(?:apply|am)$|-\w*K|--config")  # but here
REMOVING = frozenset("rm rmdir unlink shred srm trash trash-put rename".split())
COPYING = frozenset("cp install rsync scp uniq".split())  # to their last word
SHELLS = frozenset("sh bash zsh dash ksh fish source . at batch crontab eval trap".split())
RUNNERS = frozenset(  # of the program behind them
    "command builtin nohup setsid unbuffer busybox chronic uvx sudo doas env exec nice time ionice timeout stdbuf "
    "caffeinate watch xargs parallel".split()
)
OF_RUNNER = re.compile(r"-|\d|\{\}$|%$")  # its options, and words that are none
VALUED = {  # options of a runner that take the next word
    "exec": "-a",
    "env": "-u --unset",
    "nice": "-n --adjustment",
    "ionice": "-c -n --class --classdata",
    "stdbuf": "-i -o -e --input --output --error",
    "timeout": "-k -s --kill-after --signal",
    "time": "-f --format",
    "sudo": "-g -h -p -r -t -u -C -D -R -T -U --user --group",
    "doas": "-u",
    "watch": "-n --interval",
    "xargs": "-a -d -E -I -L -n -P -s --arg-file --delimiter",
}
WRITING = {  # words with which a reading program writes
    **dict.fromkeys(("sort", "shuf", "tree", "less"), re.compile(r"-\w*[oO]|--(?:[oO]|log|LOG|comp)")),
    **dict.fromkeys(
        ("awk", "gawk", "mawk"),
        re.compile(
            r"inplace$|-[dfopE]|--(?:dump|file|exec|pretty|profile)|(?s:.*)(?:"
            r"printf?\b(?:[^;}]*|(?:\"(?:[^\"\\]|\\.)*\"|[^;}\"])*)>|\bsystem\s*\(|\|\s*[\"\w])"
        ),
    ),
    **dict.fromkeys(
        ("sed", "gsed"),
        re.compile(r"-[a-zA-Z]*[if]|--(?:i|fi)|(?s:.*[\s;/,|#@:}{\d$!=][gpiImMe\d]*)?[wW](?:\s*[/~.]|\s+\w)"),
    ),
    "find": re.compile(r"-delete|-f(?:print0?|printf|ls)|-(?:exec|ok)(?:dir)?"),
    "fd": re.compile(r"-\w*[xX]|--exec"),
    "yq": re.compile(r"-\w*i|--in-?pl"),
    "oneiros": re.compile("export$"),
    "git": re.compile(r"--ou|-c$|--exec|--upload|-O|--open|ext::|\+?\S*:refs/"),
}
NOT_PLAIN = re.compile(  # options of a copy
    r"-\w*[tTlsSd]\w*|--(?:t(?!imes)|no-t|l(?!inks$)|sy|rem|del|dir|backup-d|write-b|only-w|partial-d).*"
)
TAR_PLAIN = re.compile(r"[^-].*|-C.*|-[^-IFg]*|--(?:exclude|wildcards|strip|directory|verbose|no-|x?z|zstd).*")
GIT_READING = frozenset(
    "log diff show status blame ls-files ls-tree grep shortlog rev-parse rev-list cat-file describe branch tag remote "
    "fetch reflog help for-each-ref merge-base check-ignore count-objects fsck whatchanged".split()
)
GIT_LISTING = re.compile(r"-(?!-)\w*[lanr]|--(?:list|contains|no-contains|merged|no-merged|points-at)")
GIT_CHANGING = re.compile(r"-(?!-)\w*[dDmMcCfusF]|--(?:del|mov|cop|for(?!mat)|edit|set|unset|track|sign|file|message)")
MESSAGE = re.compile(r"-\w*[mbBdtF]|--(?:message|body|title|notes|field|data\S*)")  # options in front of a text
ASSIGNMENT = re.compile(r"(\w+)(\+?)=(.*)", re.DOTALL)


def name_of(word: str) -> str:
    """The name of a program as it was called."""
    return os.path.basename(as_written(word))


def place_of_program(words: Sequence[str]) -> int:
    """Where the program stands that is run in the end, behind assignments and what runs it."""
    runner = last = ""
    for place, word in enumerate(words):
        is_value = last in VALUED.get(runner, "").split()
        is_option = bool(runner) and (is_value or OF_RUNNER.match(as_written(word)))
        last = "" if is_value else as_written(word)
        if not is_option and name_of(word) in RUNNERS:
            runner = name_of(word)
        elif not (is_option or ASSIGNMENT.fullmatch(word)):
            return place
    return len(words)


def operands(words: Sequence[str]) -> list[str]:
    """The words that are no options."""
    return [word for word in words if not word.startswith("-") or word == "-"]


def destinations(words: Sequence[str]) -> list[str]:
    """Where a copy leads: its last word, and what may be that or the value of an option that stands behind it."""
    rest, found = list(words), []
    while len(operands(rest)) > 1 and (rest[-1].startswith("-") or rest[-2].startswith("-")):
        found += [rest.pop()] if not rest[-1].startswith("-") else []
        rest.pop()
    return [*operands(rest)[1:][-1:], *found]


def written(program: str, words: Sequence[str]) -> list[str]:
    """The words of a command that may be written; ANYTHING comes first where nothing is known of the program."""
    first = words[0].lstrip("-") if words else ""
    if program in COPYING and not any(map(NOT_PLAIN.fullmatch, words)):
        return destinations(words)
    is_plain = all(map(TAR_PLAIN.fullmatch, (f"-{first}", *words[1:])))
    if program == "tar" and is_plain and re.fullmatch(r"t\w*", first):
        return []
    if program == "tar" and is_plain and re.fullmatch(r"c\w*f", first):
        return [*words[1:2], *(word for word in words if word.startswith("--"))]
    if program == "dd":
        return [word for word in words if word.startswith("of=")]
    if program == "git":
        return _written_by_git(words)
    if program in TEXT:
        return [ANYTHING, *_without_texts(words)]
    return [] if program in READING and not _writes(program, words) else [ANYTHING, *words]


def replaced(program: str, words: Sequence[str]) -> list[str]:
    """Folders that a program removes, moves or replaces with all that they hold."""
    said = operands(words)
    if program == "find" and _writes(program, words):
        names = [word for option, word in pairwise(words) if option in ("-name", "-iname")]
        may_be_ours = not names or any(name.endswith((".md", "*", "memory", "topics")) for name in names)
        return (said[:1] if words[:1] == said[:1] else ["."]) if may_be_ours else []
    if program == "git" and "clean" in said and any(re.match(r"-\w*[xX]", word) for word in words):
        return ["."]
    if program in COPYING or program == "mv":
        inside = [os.path.join(to, os.path.basename(one)) for to in destinations(words) for one in said[:-1]]
        return inside if program in COPYING else [*inside, *said[:-1]]
    return said if program in REMOVING else []


def _writes(program: str, words: Sequence[str]) -> bool:
    """Whether a reading program writes, or runs another than a reading one."""
    pairs = pairwise((*words, "")) if program in WRITING else ()
    runs = [run if word.startswith(("-exec", "-ok")) else "" for word, run in pairs if WRITING[program].match(word)]
    return any(name_of(run) not in READING - WRITING.keys() for run in runs)


def _written_by_git(words: Sequence[str]) -> list[str]:
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    command, given = "".join(words[place : place + 1]), words[place + 1 :]
    if (command in GIT_READING or list(words[place : place + 2]) == ["stash", "list"]) and not (
        _writes("git", words) or _changes_names(command, given)
    ):
        return []
    if "-c" not in words[:place]:
        given = () if command in ("push", "switch") else _without_texts(given)
    folders = [word for option, word in pairwise(words[:place]) if option == "-C"]
    return [ANYTHING, *words[:place], *(os.path.join(*folders, word) for word in given)]


def _changes_names(command: str, given: Sequence[str]) -> bool:
    """Whether git makes, moves or takes away a branch, a tag, a remote or what it remembers of them."""
    if command in ("remote", "reflog"):
        return operands(given)[:1] not in ([], ["show"], ["get-url"], ["list"], ["exists"], ["HEAD"])
    if command not in ("branch", "tag"):
        return False
    return any(map(GIT_CHANGING.match, given)) or (bool(operands(given)) and not any(map(GIT_LISTING.match, given)))


def _without_texts(words: Sequence[str]) -> list[str]:
    """The words that are no message, title or body."""
    return [word for option, word in pairwise(("", *words)) if not MESSAGE.fullmatch(option) and " " not in word]
