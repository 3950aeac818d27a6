"""What surely only reads, by the words of one simple command; whatever stands in no table may write.

`REMOVING` and `COPYING` are looked at also where a command names nothing of the person's: they replace whole folders.
"""

import os
import re
from collections.abc import Sequence
from itertools import pairwise

READING = frozenset(
    "ls cat head tail less more bat grep egrep fgrep rg wc diff cmp comm stat file du df md5sum sha1sum sha256sum cut "
    "paste tr nl od hexdump tac fold column realpath readlink basename dirname pwd test [ [[ echo printf true false "
    "jq which type sleep seq date cd read find sort uniq awk sed git for".split()
)
KEYWORDS = frozenset("then do else elif if while until done fi ! { }".split())
REMOVING = frozenset("rm rmdir unlink shred srm trash trash-put truncate rename mv".split())
COPYING = frozenset("cp install rsync scp mv".split())  # to their last word
REPLACING = REMOVING | COPYING | {"find", "git"}
XARGS = re.compile(r"\Axargs\0(?:(?:-0|-r|-n\0?\d+|-I\0?(?:\{\}|%))\0)*")
HARMLESS = re.compile(r"(?:ONEIROS_ROOT|LC_ALL|LANG|IFS)=|(?:GIT_)?PAGER=cat$")
VARIABLE = re.compile(r"\$[A-Za-z_{]")  # which may hold an option
FREE_ASSIGNMENT = re.compile(r"(?!PATH|GIT_|LESS)\w+\+?=")
SED_PART = r"(?:[^/\\\[\0]|\\[^\0])*"  # of an order of sed, between two slashes
UNSURE = {  # words with which they do more than read
    "awk": re.compile(r"-[^Fv]|(?!-F).*(?:[>|@]|system)", re.DOTALL),
    "bat": re.compile("--pager|--gen|cache"),
    "file": re.compile(r"-\w*C|--co"),
    "find": re.compile(r"-delete|-exec|-ok|-f(?:print|ls)"),
    "git": re.compile(r"--o[up]|--ext|--textc|--filters|-O|-c$"),
    "less": re.compile(r"-\w*[oO]|--(?:log|LOG)|\+"),
    "rg": re.compile("--pre|--host"),
    "sed": re.compile("-[^nEr]|--"),
    "sort": re.compile(r"-\w*[oT]|--(?:o|co|te)"),
    "uniq": re.compile("[^-]"),
}
ALL_WORDS = {  # what all words of a program must look like
    "git": re.compile(
        r"(?:-C\0[^\0]*\0|--no-pager\0)*(?:(?:log|diff|show|status|blame|ls-files|ls-tree|grep|rev-parse|rev-list|"
        r"cat-file|shortlog|stash\0list|tag\0-l|reflog\0show)(?:\0.*)?|branch(?:\0-[ar]+)?|remote(?:\0-v)?)",
        re.DOTALL,
    ),
    "sed": re.compile(  # to print lines, or to replace in them
        rf"(?:-[nEr]+\0)*(?:[\d,$]*p|/{SED_PART}/(?:,/{SED_PART}/)?p|s/{SED_PART}/{SED_PART}/g?)(?:\0[^-\0][^\0]*)*"
    ),
}


def find_program(words: Sequence[str]) -> list[str]:
    """The words of a simple command from its program on: no keyword, no variable that changes nothing, no `xargs`."""
    place = next((at for at, word in enumerate(words) if word not in KEYWORDS and not HARMLESS.match(word)), len(words))
    return XARGS.sub("", "\0".join((*words[place:], ""))).split("\0")[:-1] or [""]


def only_reads(words: Sequence[str], *, is_fed_words: bool) -> bool:
    """Whether a simple command, from its program on, surely writes nothing. `is_fed_words`: by `xargs`."""
    program, rest = words[0], words[1:]
    if {"do", "then"} & {*words}:  # a loop without marks between its steps
        return False
    if program not in READING:
        return not program or (not rest and bool(FREE_ASSIGNMENT.match(program)))
    if program not in UNSURE:
        return True
    is_unsure = is_fed_words or any(VARIABLE.search(word) or UNSURE[program].match(word) for word in rest)
    return not is_unsure and (program not in ALL_WORDS or bool(ALL_WORDS[program].fullmatch("\0".join(rest))))


def list_replaced(program: str, words: Sequence[str]) -> list[str]:
    """Folders that a program removes, moves or replaces with all that they hold."""
    operands = [word for word in words if not word.startswith("-")]
    if program == "find" and any(map(UNSURE["find"].match, words)):
        names = [word for option, word in pairwise(words) if option in ("-name", "-iname")]
        may_be_ours = not names or any(name.endswith((".md", "*", "memory", "topics")) for name in names)
        return [*operands, *([] if words[:1] == operands[:1] else ["."])] if may_be_ours else []
    if program == "git" and "clean" in operands and any(re.match(r"-\w*[xX]", word) for word in words):
        return ["."]
    inside = [os.path.join(operands[-1], os.path.basename(one)) for one in operands[:-1]] if program in COPYING else []
    return [*inside, *(operands[: -1 if program == "mv" else None] if program in REMOVING else [])]
