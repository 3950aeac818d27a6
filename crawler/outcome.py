"""How what was said in a session ended, by what stands behind it in the same session.

    agreed    the person's next words are an explicit yes, or they chose it where they were asked, or accepted the plan
    done      the calls that it leads into wrote a file or made a commit, as their own answers say; or it ends its
              exchange and reports on a commit, or on tests that passed since the last change
    dropped   a rewind left it, the person rejected it or refused the edit that it leads into, or the assistant owned
              up to a mistake in its next words; with it what else the exchange had done, where that is undone

What was dropped is not called done, and what was done not merely agreed. Few rules that hold rather than many that
guess: to call something dropped that stands is worse than to call it nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crawler.facts import ASKING_TOOL, EDITORS, find_commits, find_touched_files, parse_arguments
from crawler.spoken import REFUSED
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.document import Standing
from memory_server.language.cues import is_agreement

PLANNING_TOOL = "ExitPlanMode"  # which hands a plan to the person
REJECTS = re.compile(
    r"^\W*(?:(?:no|nope|ok(?:ay)?|hm+|oh|but|and|so|sorry|wait|again|please|can you|could you|let'?s|just|actually)\b"
    r"[\s,.!-]+)*(?:(?:remove|revert|undo|delete|drop|roll back|scrap|take back) (?:this|that|it|those|these"
    r"|all (?:of )?(?:this|that|it)|(?:the|your|that) (?:last |latest )?(?:change|commit|edit)s?)\b"
    r"|(?:that|this|it|the [\w ]{2,20})(?:'s| is| was| are|'re)? (?:\w+ )?(?:wrong|incorrect"
    r"|not (?:quite )?(?:correct|right|true|what i))\b"
    r"|you(?:'re| are) (?:\w+ )?(?:wrong|incorrect|mistaken|not (?:correct|right))\b"
    r"|[\w`'./-]+(?: [\w`'./-]+){0,2} (?:is|are) (?:wrong|incorrect|not (?:correct|right))\b)",
    re.IGNORECASE,
)
CONCEDES = re.compile(
    r"^\W*(?:(?:ah|oh|ok(?:ay)?|right|hm+|yes|no|sorry|(?:good|great|fair) (?:point|catch|question|call)|apologies"
    r"|thanks[^.!,]*)\b[\s,.!—–-]+)*(?:you(?:'re| are) (?:\w+ly )?(?:right|correct)"
    r"|my (?:mistake|bad|apologies|error)|i (?:was|am) (?:\w+ )?(?:wrong|mistaken)|that was (?:my|a) mistake"
    r"|let me (?:revert|undo)|i(?:'ll| will) (?:revert|undo)"
    r"|i (?:apologi[sz]e|misread|misunderstood|misdiagnosed|misspoke|overlooked|missed))",
    re.IGNORECASE,
)
ADMITS = re.compile(
    r"\b(?:i was (?:\w+ )?(?:wrong|mistaken)|(?:is|was|are|were|would be|that's) (?:wrong|broken|incorrect|misleading"
    r"|unnecessary|redundant|overkill|a mistake)|mistake|misread|misunderst\w+|should (?:use|be|have)\b"
    r"|should(?:n't| not)|would(?:n't| not)|do(?:n't| not) need|instead of|rather than|cleaner|simpler|revert|undo"
    r"|remove (?:it|this|that|the)|doesn't actually|no need)\b",
    re.IGNORECASE,
)
UNDOES = re.compile(r"\b(?:revert|undo|roll(?:ing)? back|(?:remove|delete) (?:this|that|it))\b", re.IGNORECASE)
ADMITTED_CHARS = 400  # of a reply, in which it says what was wrong
TESTING = re.compile(
    r"\b(?:pytest|vitest|jest|go test|cargo test|tox|rspec|phpunit|(?:gradlew?|mvn) test"
    r"|(?:npm|pnpm|yarn|bun|mise|make|just)(?: run)? (?:\w+:)?(?:test|check|ci))\b"
)
PASSED = re.compile(r"\b[1-9]\d* (?:tests? )?(?:passed|passing)\b|^(?:ok|PASS)\b", re.MULTILINE)
FAILED = re.compile(r"\b[1-9]\d* (?:tests? )?(?:failed|failing|errors?)\b|^\W*(?:FAIL|ERROR)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How something that was said ended."""

    standing: Standing
    turn: int  # the one that shows it, from 1


Numbered = tuple[int, Turn]  # a turn with its number, from 1


def find_outcomes(turns: Sequence[Turn]) -> Mapping[int, TurnOutcome]:
    """The outcome of every turn, by its number from 1, of which the session tells one."""
    own = [(number, turn) for number, turn in enumerate(turns, start=1) if not turn.agent]
    live = [(number, turn) for number, turn in own if turn.is_live]
    endings = (*_find_agreed(live), *_find_done(live), *_find_refused(live), *_find_taken_back(live), *_rewound(own))
    return {number: TurnOutcome(standing, by) for number, standing, by in endings}  # the later the stronger


def words_of_person(turn: Turn) -> str:
    """What the person said in a turn: typed, chosen where a tool asked them, or given as they refused a call."""
    if turn.role is Role.PERSON:
        return turn.text.strip()
    if turn.role is not Role.TOOL:
        return ""
    if refusal := REFUSED.match(turn.text):
        return turn.text[refusal.end() :].strip()
    return turn.text.strip() if turn.tool == ASKING_TOOL and not turn.is_error else ""


def find_accepted_plan(turn: Turn) -> str:
    """The plan that a call handed to the person and they accepted; empty for any other turn."""
    plan = parse_arguments(turn).get("plan") if turn.tool == PLANNING_TOOL and not turn.is_error else ""
    return plan.strip() if isinstance(plan, str) and turn.is_answered else ""


TurnEnd = tuple[int, Standing, int]  # the turn, how it ended, the turn that shows it


def _find_agreed(turns: Sequence[Numbered]) -> Iterator[TurnEnd]:
    for number, turn in turns:
        is_chosen = turn.tool == ASKING_TOOL and bool(words_of_person(turn)) and turn.is_answered
        if is_chosen or turn.kind is PartKind.PLAN or find_accepted_plan(turn):
            yield number, Standing.AGREED, number
    for (place, _), (answer, words) in _find_answered(turns):
        if is_agreement(words_of_person(words)):
            yield place, Standing.AGREED, answer


def _find_done(turns: Sequence[Numbered]) -> Iterator[TurnEnd]:
    for exchange in _exchanges(turns):
        for (number, _), calls in _group_calls(exchange):
            if deed := next((place for place, call in calls if is_committed(call) or is_written(call)), 0):
                yield number, Standing.DONE, deed
        last, turn = exchange[-1]
        if is_reply(turn) and (proof := _proof(exchange)):
            yield last, Standing.DONE, proof


def _proof(exchange: Sequence[Numbered]) -> int:
    """The last commit or passing test run behind which nothing was written; 0 where there is none."""
    proof = 0
    for number, turn in exchange:
        if is_committed(turn) or has_passed(turn):
            proof = number
        elif is_written(turn):
            proof = 0
    return proof


def _find_refused(turns: Sequence[Numbered]) -> Iterator[TurnEnd]:
    prompts = [number for number, turn in turns if turn.is_prompt]
    for (number, _), calls in _group_calls(turns):
        for place, call in calls:
            if call.tool in EDITORS and REFUSED.match(call.text):
                later = next((prompt for prompt in prompts if prompt > place), place)
                yield number, Standing.DROPPED, place if words_of_person(call) else later


def _find_taken_back(turns: Sequence[Numbered]) -> Iterator[TurnEnd]:
    replies = [(number, turn) for number, turn in turns if is_reply(turn)]
    for (place, _), (answer, words) in _find_answered(turns):
        reply = next((turn for number, turn in replies if number > answer), None)
        opening = reply.text[:ADMITTED_CHARS] if reply else ""
        if REJECTS.match(words.text) or owns_up(opening):
            yield place, Standing.DROPPED, answer
            if UNDOES.search(words.text) or UNDOES.search(opening):
                yield from ((done, Standing.DROPPED, answer) for done in _find_deeds(turns, place))


def _find_deeds(turns: Sequence[Numbered], place: int) -> list[int]:
    """The replies that led into deeds, in the exchange that a reply belongs to."""
    exchange = next(part for part in _exchanges(turns) if part[0][0] <= place <= part[-1][0])
    return [number for number, _, _ in _find_done(exchange) if number < place]


def _rewound(turns: Sequence[Numbered]) -> Iterator[TurnEnd]:
    for number, turn in turns:
        if not turn.is_live and (is_reply(turn) or turn.is_prompt):
            after = (later for later, other in turns if later > number and other.is_live and other.is_prompt)
            yield number, Standing.DROPPED, next(after, number)


def _find_answered(turns: Sequence[Numbered]) -> Iterator[tuple[Numbered, Numbered]]:
    """Every reply of the assistant that the person answered, with their words, tools between them left out."""
    spoken = [(number, turn) for number, turn in turns if is_reply(turn) or words_of_person(turn)]
    for before, after in pairwise(spoken):
        if is_reply(before[1]) and after[1].is_prompt:
            yield before, after


def _exchanges(turns: Sequence[Numbered]) -> Iterator[list[Numbered]]:
    """The turns from one prompt of the person up to the next."""
    exchange: list[Numbered] = []
    for number, turn in turns:
        if turn.role is Role.PERSON and exchange:
            yield exchange
            exchange = []
        exchange.append((number, turn))
    if exchange:
        yield exchange


def _group_calls(turns: Sequence[Numbered]) -> Iterator[tuple[Numbered, list[Numbered]]]:
    """Every reply with the calls up to whatever was said next."""
    places = [place for place, (_, turn) in enumerate(turns) if turn.role is not Role.TOOL]
    for place, end in pairwise([*places, len(turns)]):
        if is_reply(turns[place][1]):
            yield turns[place], list(turns[place + 1 : end])


def is_reply(turn: Turn) -> bool:
    return turn.role is Role.ASSISTANT and turn.kind is PartKind.TEXT


def is_committed(turn: Turn) -> bool:
    return turn.role is Role.TOOL and bool(find_commits([turn]))


def is_written(turn: Turn) -> bool:
    return turn.role is Role.TOOL and bool(find_touched_files([turn], ""))


def has_passed(turn: Turn) -> bool:
    """Whether a call ran tests of which some passed and none failed."""
    if turn.role is not Role.TOOL or turn.is_error:
        return False
    command = str(parse_arguments(turn).get("command", ""))
    return bool(TESTING.search(command) and PASSED.search(turn.text) and not FAILED.search(turn.text))


def owns_up(reply: str) -> bool:
    """Whether a reply begins by giving the person right and says what was wrong."""
    return bool(CONCEDES.match(reply) and ADMITS.search(reply))
