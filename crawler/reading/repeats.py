"""What comes back from session to session: requests in few words, and errors. The program counts, a reader words.

An error is known by its text with numbers, paths and ids masked, words of the person by their telling words.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from crawler.facts import error_line, find_command, find_fix, find_other_ways
from crawler.quotes import SessionTurns, make_quote
from crawler.reading.record import Failure, Reading, Request
from crawler.spoken import prose_regions
from crawler.transcripts.turns import Role
from memory_server.language.sentences import sentence_spans
from memory_server.language.words import content_words

MIN_SESSIONS = 2  # in which an error is met before it is a lesson
MIN_REQUESTS = 3  # sessions, from which a request is a habit
SAME_WORDS = 0.6  # Jaccard of telling words, from which two requests are the same
MOST_HABITS = 8  # of a project that a reader is asked about
MOST_WORDS = 12  # telling words of what is said again and again
MOST_LETTERS = 120  # of a request that is asked in passing
MAX_FOUND = 60  # of one session: a loop of failing calls is one error, met often
OPENS_OUTPUT = tuple("[(<{")  # of a program rather than of a person
URL = re.compile(r"https?://\S+")
MASKS = (
    (URL, "<url>"),
    (re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|“[^”]*”"), "<name>"),
    (re.compile(r"(?:~|\.{1,2})?(?:/[\w.@+-]+)+/?|\b[A-Z]:\\\S+|\b[\w-]+(?:/[\w.-]+)+"), "<path>"),
    (re.compile(r"\b[0-9a-f]{7,}\b|\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b"), "<id>"),
    (re.compile(r"\d+(?:\.\d+)*"), "<n>"),
)


def error_template(output: str) -> str:
    """The line of a failed call's output that says what went wrong, all masked that differs from time to time."""
    line = error_line(output)
    for pattern, mask in MASKS:
        line = pattern.sub(mask, line)
    return " ".join(line.casefold().split())[:160]


def telling(text: str) -> str:
    """The telling words of a text, each once, sorted."""
    return " ".join(sorted(set(content_words(text))))


def is_same_request(one: str, other: str) -> bool:
    """Whether two requests, given by their telling words, say the same."""
    ours, theirs = set(one.split()), set(other.split())
    return bool(ours | theirs) and len(ours & theirs) / len(ours | theirs) >= SAME_WORDS


def find_requests(session: SessionTurns) -> list[Request]:
    """What the person asked for in sentences short enough to come back."""
    found: dict[str, Request] = {}
    for turn in session.spoken_turns:
        for first, end in prose_regions(turn.text) if turn.is_prompt else ():
            for start, stop in sentence_spans(turn.text[first:end]):
                sentence = URL.sub("", turn.text[first + start : first + stop])
                words = "" if sentence[:1] in OPENS_OUTPUT else telling(sentence)
                if stop - start <= MOST_LETTERS and 1 <= len(words.split()) <= MOST_WORDS:
                    found.setdefault(words, Request(words, make_quote(session, turn, first + start, first + stop)))
    return list(found.values())[:MAX_FOUND]


def find_failures(session: SessionTurns) -> list[Failure]:
    """The commands that failed, each with what then worked, the same error once."""
    turns, found = session.turns, dict[str, Failure]()
    other_ways = find_other_ways(turns)
    for place, turn in enumerate(turns):
        if turn.role is not Role.TOOL or not turn.is_error or not find_command(turn):
            continue
        template = error_template(turn.text)
        fix = other_ways.get(place) or find_fix(turns, place)
        if len(content_words(template)) >= MIN_SESSIONS:
            worked = find_command(fix) if fix else ""
            found.setdefault(template, Failure(template, turn.entries[-1], error_line(turn.text)[:200], worked))
    return list(found.values())[:MAX_FOUND]


def group_habits(readings: Iterable[Reading]) -> list[list[Request]]:
    """What was asked for in enough sessions of one project, the most frequent first; of each the newest request first.

    Requests belong together where they share two telling words, or are the same one. Whether they ask for the same, the
    reader says.
    """
    found: dict[tuple[str, ...], dict[str, Request]] = defaultdict(dict)  # by project and words, one of each session
    for reading in readings:
        for request in reading.requests:
            words = request.words.split()
            for key in combinations(words, 2) if len(words) > 1 else [tuple(words)]:
                found[reading.project, *key].setdefault(reading.session_id, request)
    habits, used, room = list[list[Request]](), set[str](), Counter[str]()
    for (project, *_), of_session in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        marks = {request.quote.mark for request in of_session.values()}
        entries = {request.quote.entry for request in of_session.values()}  # a fork repeats entries
        is_new = 2 * len(marks & used) < len(marks)
        if is_new and min(len(of_session), len(entries)) >= MIN_REQUESTS and room[project] < MOST_HABITS:
            room[project] += 1
            used |= marks
            habits.append(sorted(of_session.values(), key=lambda one: str(one.quote.time), reverse=True))
    return habits


def count_failures(readings: Sequence[Reading]) -> Mapping[str, int]:
    """In how many sessions each error was met, by its template, of those met in enough."""
    sessions = defaultdict(set)
    for reading in readings:
        for failure in reading.failures:
            sessions[failure.template].add(reading.session_id)
    return {template: len(found) for template, found in sessions.items() if len(found) >= MIN_SESSIONS}


def group_errors(readings: Iterable[Reading]) -> Iterator[tuple[str, list[tuple[str, Failure]]]]:
    """Errors that enough sessions of one project met, those of most sessions first: the project, and of each session
    its id and the failure.
    """
    found: dict[tuple[str, str], dict[str, Failure]] = defaultdict(dict)  # by project and template, one of each session
    for reading in readings:
        for failure in reading.failures:
            found[reading.project, failure.template].setdefault(reading.session_id, failure)
    for (project, _), of_session in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        if len({failure.entry for failure in of_session.values()}) >= MIN_SESSIONS:  # a fork repeats entries
            yield project, list(of_session.items())
