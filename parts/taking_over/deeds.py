"""What was done, as steps: the commands of an exchange that succeeded, one after the other.

Who looks for habits and who checks a skill made of one must agree on it. What failed or only looks about is no step.
What cannot be taken back or holds a secret is none either, and ends the run of steps: nothing leads over it. Of a
command only those words are ever shown that were the same each time and can hold neither a sentence nor a secret.
"""

import datetime as dt
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from crawler.facts import parse_arguments
from crawler.quotes import Quote, SessionTurns
from crawler.transcripts.turns import Role, Turn
from dream.changes import hash_text
from memory_server.language.cues import ignore_case

GAP = "…"  # in the place of what differs, or is not shown
LOOKS = frozenset(
    "ls cat grep egrep rg find fd head tail wc echo pwd sed awk cd pushd popd sleep which type test [ [[ true"
    " false for do done if then elif else fi while case esac tree stat file sort jq yq printf export unset cut tr uniq"
    " ps env date diff read set source . less man tee wait jobs history clear mkdir touch".split()
)
GIT_LOOKS = frozenset("diff status log show branch rev-parse remote blame ls-files config describe shortlog".split())
NESTED = frozenset("run exec pr issue release compose tool x api workflow repo image container".split())
NOT_TAKEN_BACK = ignore_case(
    r"(?:^|\s)(?:\S*/)?(?:rm|rmdir|unlink|shred|dd|mkfs\S*|fdisk|wipefs|truncate|sudo|su|doas|chown|chmod|kill|killall"
    r"|pkill|reboot|shutdown|eval|ssh|scp|nc|ncat|telnet|curl|wget|iwr|dropdb|crontab|iptables|passwd|oneiros)(?=\s|$)"
    r"|(?:^|\s)(?:--force\S*|--hard|--delete\S*|--no-verify|--mirror|--prune|--purge|--yolo|--dangerously\S*|(?-i:-\w*D)"
    r"|--exec|-[ce])(?=\s|$)|\bpush\b.*\s(?:-\w*f\w*|[+:]\S+)(?=\s|$)"
    r"|\b(?:reset|clean|prune|purge|destroy|drop|delete|uninstall|filter-branch|revoke|rollback|wipe|erase|nuke|remove"
    r"|reflog|teardown|down|terminate|publish|login|logout)(?=\s|$)|\[redacted:"
    r"|^(?:\S*/)?(?:(?:ba|z|da|fi|k)?sh|python3?|node|ruby|perl)(?: -\w*)*$"
)  # what destroys, reaches outside as somebody, runs what nobody sees, or held a secret: no step, and no way over it
UNSEEN = re.compile(
    r"\|&?\s*(?:\w+=\S*\s+|env\s+|\S*/)*(?:(?:ba|z|da|fi|k)?sh|python3?|perl|ruby|node|xargs)\b"
    r"|\s-(?:delete|exec\w*|ok\w*)(?=\s|$)"
)  # what is fed to a program that runs it
HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1.*?^[ \t]*\2$", re.DOTALL | re.MULTILINE)
OPERATOR = re.compile(r"[;&|()\n]+")
ASSIGNS = re.compile(r"[A-Za-z_]\w*=")
PLAIN = re.compile(r"[a-z][a-z:-]*")
SHOWN = re.compile(r"(?:\./|\.\./|@|-{1,2})?[A-Za-z0-9][\w./:@+-]*|\.{1,3}|\./(?:\.\.\.)?")
MIXED = re.compile(r"(?=[^/]*\d)(?=[^/]*[A-Za-z])[^/.]{4,}")  # a hash, an id, a password
MAX_PARTS, MAX_WORD = 5, 40  # of one word: a longer one may be a sentence
SECRET_BEHIND = ignore_case(r"-{1,2}(?:p|u|k|pass\w*|token|key|secret|user\w*|auth\w*|cred\w*|api-?key|header)")
MADE = r"(?:script|command|skill|alias|macro|shortcut|make target)"
IDEA = ignore_case(
    rf"\b(?:make|write|create|build|add|have|need|want)\b.{{0,20}}\b{MADE}s? (?:for|to do|that does|(?:out )?of|from) "
    r"(?:this|that|it|these|those|all (?:this|that))\b"
    rf"|\b(?:turn|make|put) (?:this|that|it|these|those)(?: steps?)? into (?:an?|one) (?:\w+ )?{MADE}\b"
    rf"|\b(?:automate|script) (?:this|that|it|these|those)\b(?! is)|\b(?:every|each) time\b.{{0,80}}\b{MADE}\b"
)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Steps as they were taken once."""

    session_id: str
    entries: tuple[str, ...]  # of the calls, one a step
    time: dt.datetime | None  # aware
    commands: tuple[str, ...]  # one a step, masked


@dataclass(frozen=True, slots=True)
class Habit:
    """The same steps, taken in two or more sessions."""

    project: str  # empty where it is done in several
    keys: tuple[str, ...]  # what makes each step the same
    times: tuple[Occurrence, ...]  # one of each session, oldest first
    quotes: tuple[Quote, ...] = ()  # of the person, who asked for it or wished that it were one step

    @property
    def id(self) -> str:
        return hash_text("\n".join((self.project, *self.keys)))[:12]

    @property
    def last(self) -> dt.datetime | None:
        """When it was done last."""
        return max((done.time for done in self.times if done.time), default=None)


@dataclass(frozen=True, slots=True)
class Deed:
    """One simple command of a call that succeeded."""

    words: tuple[str, ...]
    entry: str  # of the call

    @property
    def key(self) -> str:
        """What makes two steps the same: the program and what it is told to do."""
        plain = [word for word in self.words[1:] if PLAIN.fullmatch(word)]
        arguments = plain[: 2 if plain[:1] and plain[0] in NESTED else 1]
        return " ".join((self.words[0].rpartition("/")[2], *arguments))


@dataclass(frozen=True, slots=True)
class Deeds:
    """Steps that followed one another in one exchange, with the words of the person ahead of them and behind."""

    session: SessionTurns
    deeds: tuple[Deed, ...]
    requests: tuple[Turn, ...]

    def part(self, first: int, end: int) -> Occurrence:
        """Some of its steps, as they are kept."""
        steps = self.deeds[first:end]
        time = next((turn.time for turn in self.session.turns if steps[0].entry in turn.entries), None)
        commands = tuple(" ".join(step.words) for step in steps)
        return Occurrence(self.session.session_id, tuple(step.entry for step in steps), time, commands)


def find_deeds(session: SessionTurns) -> Iterator[Deeds]:
    """The runs of a session, in its order."""
    prompts: list[Turn] = []
    runs: list[tuple[list[Deed], int]] = [([], 0)]  # each with how many prompts stand before it
    for turn in session.turns:
        if turn.is_prompt:
            prompts.append(turn)
            runs.append(([], len(prompts)))
        elif turn.role is Role.TOOL and turn.tool == "Bash":
            for step in _parse_steps(turn):
                if step is None:
                    runs.append(([], len(prompts)))
                elif not runs[-1][0] or runs[-1][0][-1].key != step.key:
                    runs[-1][0].append(step)
    for steps, place in runs:
        if steps:
            yield Deeds(session, tuple(steps), tuple(prompts[max(0, place - 1) : place + 1]))


def _parse_steps(turn: Turn) -> Iterator[Deed | None]:
    """The steps of a call; None where a run ends."""
    command = str(parse_arguments(turn).get("command", ""))
    text = HEREDOC.sub("", command.replace("\\\n", " "))
    has_failed = turn.is_error or not turn.is_answered
    if UNSEEN.search(text) or (has_failed and NOT_TAKEN_BACK.search(text)):
        yield None
    if has_failed:
        return
    for words, is_fed in _simple_commands(text):
        program = words[0].rpartition("/")[2]
        looks = program in LOOKS or (program == "git" and bool(GIT_LOOKS.intersection(words[1:4])))
        if not looks and (NOT_TAKEN_BACK.search(" ".join(words)) or not SHOWN.fullmatch(program)):
            yield None
        elif not looks and not is_fed:
            yield Deed(tuple(words), turn.entries[0])


def _simple_commands(text: str) -> Iterator[tuple[list[str], bool]]:
    """The words of each simple command, and whether a pipe feeds it; one of no name where the text cannot be read.

    What holds white space or what a shell puts in is no word that can be shown.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    words: list[str] = []
    is_fed = skips = False
    try:
        for token in (*lexer, ";"):
            if skips:
                skips = False
            elif set(token) <= set("<>&") and set(token) & set("<>"):
                skips = True  # where it is read from or written to
                words = words[:-1] if words and words[-1] in ("1", "2") else words
            elif OPERATOR.fullmatch(token):
                while words and ASSIGNS.match(words[0]):
                    words = words[1:]
                if words:
                    yield words, is_fed
                words, is_fed = [], token in ("|", "|&")
            elif set(token) <= set(";&|()<>\n"):  # nothing that a shell would read so
                yield [GAP], False
            else:
                words.append(GAP if re.search(r"[\s$`]", token) else token)
    except ValueError:  # a quote that never closes
        yield [GAP], False


def format_command(commands: Sequence[str]) -> str:
    """One step as a skill tells it: what was the same each time, `…` in the place of the rest."""
    shown: list[str] = []
    for same in zip_longest(*(command.split(" ") for command in commands)):
        is_shown = len(set(same)) == 1 and bool(same[0]) and _may_be_shown(same[0])
        is_value = bool(shown) and SECRET_BEHIND.fullmatch(shown[-1]) is not None
        shown.append(same[0] if is_shown and not is_value else GAP)
        if shown[-1] == GAP and not all(same):
            break
    return " ".join(word for place, word in enumerate(shown) if word != GAP or shown[place - 1 : place] != [GAP])


def _may_be_shown(word: str) -> bool:
    is_short = len(word) <= MAX_WORD and all(len(re.split(r"[-_]+", part)) < MAX_PARTS for part in word.split("/"))
    return bool(SHOWN.fullmatch(word)) and is_short and not MIXED.fullmatch(word)
