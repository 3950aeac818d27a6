"""What was said in sessions, as passages of an answer: a digest leads to a session, its turns hold the answer.

A passage is the stretch of turns that fits the question best and what followed it, since a question is settled by what
comes after it; what begins with the person's words is read at the last reply they got. A short session is also read at
its last long reply, which says what was settled. What the digest of a session says does not change the order: it was
measured, and helps nowhere. Above a passage stand the lines that a model read in it and that its words prove, marked,
but not in the place of the person's last words.
"""

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, takewhile
from textwrap import shorten

from memory_server.document import Answer, Hit, Layer, LineRange, Standing, show_place
from memory_server.index.ledger import StoredChunk
from memory_server.index.stretch_index import PERSON, REPLY
from memory_server.language.cues import (
    NEGATION,
    WantedState,
    answers_nothing,
    asks,
    find_wanted_state,
    is_agreement,
    is_refusal,
    says_nothing,
)
from memory_server.language.sentences import split_sentences
from memory_server.language.shortening import NOTED
from memory_server.language.words import content_words
from memory_server.layers.sessions import find_subject
from memory_server.search.amending import SpokenPassage, find_amenders, find_newer
from memory_server.search.precedence import fit
from memory_server.search.question import Question, Search
from memory_server.search.raw_turns import session_key, with_more
from memory_server.search.retrieval import RankedPassage, Retriever, make_hit

PASSAGE_CHARS = 850  # of a stretch with what followed it
FORGED_NOTE = re.compile(rf"(?m)^(?={NOTED})")  # a line that begins as if the program marked it
FORGED = re.compile(rf"(?m)^(?={PERSON}|{REPLY}|{NOTED})")  # likewise, in what an assistant said
OWN_MARK = "· "  # before such a line
WORD = re.compile(r"\w+")
NAME = re.compile(r"(?<=[\w,] )[A-Z]\w*|\b\w*\d\w*")  # not at the beginning of a sentence
SAID_SHARE = 0.8  # of the telling words of a noted line: what a passage says by itself is not said twice
MOST_NOTED, NOTED_CHARS = 2, 250  # lines of what a model read in it, characters of one
QUESTION_CHARS = 150  # of what the person asked, as the line above what settled it
STATEMENT_CHARS = 400  # of what they told without asking, which may be the answer
QUESTIONING_CHARS = 4_000  # of a reply, within which the question is looked for that it ends in
MOST_OWN_CHARS = 4_000  # of the person's words without a reply, behind which it is looked for what was said next
SAME_QUESTION = 2 / 3  # of the content words of either of two questions that are the same
COMPARED = 10  # best stretches, of which one may amend another
WHOLE = 3  # best passages, of which those of one session are one hit
SHORT_SESSION = 20  # stretches of one whose last long reply is the third of these; in longer ones that loses answers
LONG_REPLY_CHARS = 250  # what says less is no conclusion


def reads_spoken(question: Question) -> bool:
    """Whether the answer may stand in what was said: by meaning, of all layers.

    Types have lines of their own; where turns are asked for, what tools returned is ranked with what was said.
    """
    asks_else = question.types or question.filter.layers or question.asks_turns
    return question.search is not Search.EXACT and not asks_else


@dataclass(frozen=True, slots=True)
class ShownStretch:
    """What is shown for a stretch: the stretches that are read for it, between lines of what the person said."""

    parts: Sequence[StoredChunk]
    line: str = ""  # what they had said; empty where the parts begin with it
    left_out: int = 0  # characters at the beginning of the parts, which the line stands for
    answer: str = ""  # what they said to the question that a reply ends in; empty where the parts hold it
    noted: Sequence[str] = ()  # what a model read in it

    @property
    def passage(self) -> str:
        """The text, cut at the end of a word."""
        noted = [shorten(f"{NOTED}{line}", NOTED_CHARS, placeholder=" …") for line in self.noted]
        text = "\n".join(filter(None, [*noted, self.line, *self._speeches()]))
        end = f"\n{self.answer}" if self.answer and self.answer not in text[:PASSAGE_CHARS] else ""
        room = PASSAGE_CHARS - len(end)
        if len(text) > room:
            cut = text[: room - 2]
            text = f"{cut[: max(cut.rfind(' '), PASSAGE_CHARS // 2)].rstrip()} …"
        return text + end

    @property
    def lines(self) -> LineRange:
        return LineRange(self.parts[0].lines.first, max(part.lines.last for part in self.parts))

    def _speeches(self) -> Iterator[str]:
        """What each part holds; where the person's words end, a mark says so."""
        is_persons, left_out = bool(self.line), self.left_out
        for part in self.parts:
            own = max(part.person_chars, left_out)
            words, reply = part.passage[left_out:own].strip("\n"), part.passage[own:].lstrip("\n")
            words, reply = FORGED_NOTE.sub(OWN_MARK, words), FORGED.sub(OWN_MARK, reply)
            is_persons |= bool(words)
            yield words
            yield f"{REPLY}{reply}" if reply and is_persons else reply
            is_persons &= not reply
            left_out = 0


@dataclass(frozen=True, slots=True)
class Later:
    """The day and place of what is later than a stretch, where it takes that back or speaks of the same."""

    amended: str = ""
    newer: str = ""


NOTHING_LATER = Later()


def build_spoken_hits(retriever: Retriever, candidates: Sequence[RankedPassage], question: Question) -> list[Hit]:
    """Stretches, best first, as hits with what followed each; none shows what another one shows already.

    What was dropped stands behind what took its place, which is read where the ranking did not bring it. Of the WHOLE
    best passages those of one session are one hit; further ones are hits of their own, as many as a session may have.
    """
    shown: set[tuple[int, int]] = set()
    texts: set[str] = set()  # a session that was copied says the same again
    noted_before: set[str] = set()
    words = set(content_words(question.text))
    hits: list[Hit] = []
    of_source: dict[int, int] = {}
    passages = 0
    ordered = _with_asking_later(retriever, _with_amending(retriever, candidates, question), words)
    for candidate, chunk, later in _with_conclusion(retriever, ordered):
        if passages >= WHOLE and len(hits) >= question.limit:
            break
        most = question.per_source if passages < WHOLE else question.per_session
        if _place(chunk) in shown or (passages >= WHOLE and of_source.get(chunk.source, 0) >= most):
            continue
        for whole in _readings(retriever, chunk):
            parts = _unshown(whole.parts, shown)
            reading = replace(whole, parts=parts)
            if reading.parts and (said := reading.passage) not in texts:
                noted = _choose_noted((chunk, *parts), words, {*noted_before, said})
                reading = _keep_own_words(replace(reading, noted=noted), said)
                hit = replace(_hit(candidate, reading, retriever), amended=later.amended, newer=later.newer)
                _add(hits, hit, most)
                noted_before.update(reading.noted)
                of_source[chunk.source] = of_source.get(chunk.source, 0) + 1
                passages += 1
                texts.add(said)
                shown |= {_place(part) for part in reading.parts}
        shown.add(_place(chunk))
    return hits[: question.limit]


def _choose_noted(parts: Sequence[StoredChunk], words: Collection[str], shown: Collection[str]) -> list[str]:
    """What a model read in some stretches and no text that is shown says by itself, MOST_NOTED lines: those with most
    words asked for.
    """
    lines = dict.fromkeys(line for part in parts for line in part.noted.splitlines())
    new = [line for line in lines if not any(_says(text, line) for text in shown)]
    return sorted(new, key=lambda line: -len(set(words) & set(content_words(line))))[:MOST_NOTED]


def _keep_own_words(reading: ShownStretch, said: str) -> ShownStretch:
    """A reading with as many of its noted lines as leave it the person's last words of what was said: in their place a
    proposal would stand without the no.
    """
    _, mark, words = f"\n{said}".rpartition(f"\n{PERSON}")
    own = words.partition(f"\n{REPLY}")[0].removesuffix(" …") if mark else ""
    while reading.noted and own not in reading.passage:
        reading = replace(reading, noted=reading.noted[:-1])
    return reading


def _says(text: str, line: str) -> bool:
    """Whether a text holds most telling words of a line and all its numbers and names, and denies where it does."""
    own, held = set(content_words(line)), set(content_words(text))
    names = {name.casefold() for name in NAME.findall(line)}
    is_alike = bool(NEGATION.search(text)) == bool(NEGATION.search(line))
    return is_alike and len(own & held) >= SAID_SHARE * len(own) and names <= set(WORD.findall(text.casefold()))


def _unshown(parts: Sequence[StoredChunk], shown: Collection[tuple[int, int]]) -> Sequence[StoredChunk]:
    """Stretches up to the first that is shown already."""
    return list(takewhile(lambda part: _place(part) not in shown, parts))


def _with_conclusion(
    retriever: Retriever, found: Iterator[tuple[RankedPassage, StoredChunk, Later]]
) -> Iterator[tuple[RankedPassage, StoredChunk, Later]]:
    """What was found, the last long reply of the first one's session in the third place where that is a short one.

    What something later amends or speaks of settles nothing, and keeps its place behind that.
    """
    first, near = list(islice(found, WHOLE - 1)), list(islice(found, 2 * COMPARED))
    older_rows = {chunk.row for _, chunk, later in near if later != NOTHING_LATER}
    yield from first
    for candidate, chunk, _ in first[:1]:
        session = retriever.read_source(chunk, SHORT_SESSION)
        replies = [one for one in session if len(one.passage) - one.person_chars >= LONG_REPLY_CHARS]
        yield from ((candidate, reply, NOTHING_LATER) for reply in replies[-1:] if reply.row not in older_rows)
    yield from near
    yield from found


def _with_asking_later(
    retriever: Retriever, found: Iterator[tuple[RankedPassage, StoredChunk, Later]], words: Collection[str]
) -> Iterator[tuple[RankedPassage, StoredChunk, Later]]:
    """What was found; of the best what merely asks the question, and got no answer, behind the WHOLE best others."""
    asking = []
    answering = 0
    for one in islice(found, COMPARED):
        if _asks_in_vain(retriever, one[1], words):
            asking.append(one)
            continue
        yield one
        answering += 1
        if answering == WHOLE:
            break
    yield from asking
    yield from found


def _asks_in_vain(retriever: Retriever, chunk: StoredChunk, words: Collection[str]) -> bool:
    """Whether in a stretch the person asks the question of these content words, and what they got answers nothing."""
    said = chunk.passage[: chunk.person_chars].removeprefix(PERSON)
    own, wanted = set(content_words(said)), set(words)
    is_same = len(own & wanted) >= SAME_QUESTION * max(1, len(own), len(wanted))
    is_bare = not any(character.isdigit() for word in own - wanted for character in word)
    if not (is_same and is_bare and asks(said)) or chunk.standing is Standing.AGREED:
        return False
    told = "\n".join(_list_replies(_reading(retriever, chunk), chunk, wanted))
    return not any(_tells(sentence, own | wanted) for sentence in split_sentences(told))


def _list_replies(reading: ShownStretch, chunk: StoredChunk, wanted: set[str]) -> Iterator[str]:
    """What is shown behind a question, up to where the person speaks of something else."""
    for place, part in enumerate(reading.parts):
        is_question = not place and (part.row == chunk.row or reading.left_out)
        said = "" if is_question else part.passage[: part.person_chars].removeprefix(PERSON)
        if place and said and not is_refusal(said) and wanted.isdisjoint(content_words(said)):
            return
        yield said
        yield part.passage[part.person_chars :]


def _tells(sentence: str, known: Collection[str]) -> bool:
    """Whether a sentence answers a question of known words: by a yes or no, or by another word."""
    if answers_nothing(sentence):
        return False
    return is_refusal(sentence) or is_agreement(sentence) or not set(content_words(sentence)) <= set(known)


def _with_amending(
    retriever: Retriever, candidates: Sequence[RankedPassage], question: Question
) -> Iterator[tuple[RankedPassage, StoredChunk, Later]]:
    """What was found in its order, but what is later than one of the best on the same before it, as that is marked.

    A question for what holds now begins with the newest of what is said like the best, one for the beginning with the
    oldest, which stands before what amends it.
    """
    best, sources = list(retriever.read(candidates[:COMPARED])), retriever.snapshot.sources
    hits = [make_hit(candidate, chunk, sources[chunk.source]) for candidate, chunk in best]
    passages = [
        SpokenPassage(
            chunk.source,
            hit.project,
            hit.date,
            chunk.lines.first,
            chunk.passage,
            _own_words(chunk),
            chunk.takes_back.splitlines(),
        )
        for hit, (_, chunk) in zip(hits, best, strict=True)
    ]
    alike = retriever.alikeness(hits)
    words = content_words(question.text)
    amenders = find_amenders(passages, words, lambda one, other: alike(hits[one], hits[other]))
    amenders = {**_find_shown_amended(retriever, [chunk for _, chunk in best], amenders), **amenders}
    later_places = {**find_newer(passages, words), **amenders}
    marks = {}
    for place, later in later_places.items():
        day = f"{passages[later].date} at " if passages[later].date else "at "
        where = f"{day}{show_place(hits[later].path, best[later][1].lines)}"
        marks[place] = Later(amended=where) if place in amenders else Later(newer=where)
    state = find_wanted_state(question.text)
    for place in _by_time(passages, lambda other: alike(hits[0], hits[other]), state):
        chain = [place]
        while (later := later_places.get(chain[-1], place)) not in chain:
            chain.append(later)
        for one in chain if state is WantedState.OLDEST else reversed(chain):
            yield *best[one], marks.get(one, NOTHING_LATER)
    yield from ((candidate, chunk, NOTHING_LATER) for candidate, chunk in retriever.read(candidates[COMPARED:]))


def _find_shown_amended(
    retriever: Retriever, best: Sequence[StoredChunk], amenders: Mapping[int, int]
) -> dict[int, int]:
    """For the place of each stretch whose passage goes on to what is amended, the place of what amends that."""
    places = {chunk.row: place for place, chunk in enumerate(best)}
    shown: dict[int, int] = {}
    for place, chunk in enumerate(best if amenders else ()):
        rows = [part.row for part in _reading(retriever, chunk).parts]
        for later in (amenders[places[row]] for row in rows if places.get(row) in amenders):
            if best[later].row not in rows:
                shown[place] = later
    return shown


def _by_time(
    passages: Sequence[SpokenPassage], is_like_best: Callable[[int], bool], state: WantedState | None
) -> list[int]:
    """The places of some passages, best first, behind the newest or oldest of what other sessions say like the best."""
    if state is None or not passages:
        return list(range(len(passages)))
    best, *others = passages
    elsewhere = [place for place, one in enumerate(others, start=1) if one.source != best.source]
    alike = [0, *(place for place in elsewhere if passages[place].project == best.project and is_like_best(place))]
    is_newest = state is WantedState.NEWEST
    undated = dt.date.min if is_newest else dt.date.max
    by_time = sorted(alike, key=lambda place: (passages[place].date or undated, passages[place].turn))
    chosen = by_time[-1 if is_newest else 0]
    return [chosen, *(place for place in range(len(passages)) if place != chosen)]


def _add(hits: list[Hit], hit: Hit, most: int) -> None:
    """Adds a hit; behind the last one of its session where that has as many as it may."""
    same = [place for place, other in enumerate(hits) if other.path == hit.path]
    if len(same) < most:
        hits.append(hit)
    else:
        hits[same[-1]] = with_more(hits[same[-1]], hit)


def _readings(retriever: Retriever, chunk: StoredChunk) -> list[ShownStretch]:
    """What is shown for a stretch, behind what took its place where it was dropped.

    Nothing for a mere question, nor for a greeting.
    """
    reading = _reading(retriever, chunk)
    if says_nothing("\n".join(part.passage for part in reading.parts)):
        return []
    settled = reading.parts[0]
    if _is_mere_question(chunk) and all(part.person_chars == len(part.passage) for part in reading.parts):
        return []
    is_dropped = settled.standing is Standing.DROPPED
    instead = retriever.find_passage(settled.source, settled.settled_at) if is_dropped else None
    return [_reading(retriever, instead), reading] if instead else [reading]


def _reading(retriever: Retriever, chunk: StoredChunk) -> ShownStretch:
    """A stretch and what followed it. What begins with the person's words is read where it was settled.

    That is where the last reply to them begins or, where nobody replied, what was said next. What they chose where they
    were asked has settled something itself.
    """
    if not chunk.person_chars or chunk.standing is Standing.AGREED:
        parts = _with_following(retriever, chunk, PASSAGE_CHARS)
        return ShownStretch(parts, answer=_answer(retriever, parts))
    line = _words(chunk)
    if settled := retriever.last_reply(chunk):
        parts = _with_following(retriever, settled, PASSAGE_CHARS - len(line))
        return ShownStretch(parts, line, settled.person_chars, _answer(retriever, parts))
    following = retriever.following(chunk, MOST_OWN_CHARS)
    if next_part := next((part for part in following if part.lines.first > chunk.lines.first), None):
        return ShownStretch(_with_following(retriever, next_part, PASSAGE_CHARS - len(line)), line)
    return ShownStretch([chunk])


def _words(chunk: StoredChunk) -> str:
    """What the person said at the beginning of a stretch, on one line: of a question how it began."""
    if _asks(chunk):
        return shorten(f"{PERSON}{chunk.headings[0]}", QUESTION_CHARS, placeholder=" …")
    return shorten(chunk.passage[: chunk.person_chars], STATEMENT_CHARS, placeholder=" …")


def _own_words(chunk: StoredChunk) -> str:
    """What the person told at the beginning of a stretch; nothing where they ask."""
    return "" if _asks(chunk) else chunk.passage[: chunk.person_chars].removeprefix(PERSON)


def _asks(chunk: StoredChunk) -> bool:
    return "?" in chunk.passage[: chunk.person_chars] or "?" in chunk.headings[0]


def _is_mere_question(chunk: StoredChunk) -> bool:
    """Whether a stretch is nothing but a question of the person; what they chose where they were asked is none."""
    is_own = chunk.person_chars == len(chunk.passage) and chunk.standing is not Standing.AGREED
    return is_own and _asks(chunk)


def _answer(retriever: Retriever, parts: Sequence[StoredChunk]) -> str:
    """The person's next words, cut, where they say no to the reply that some stretches are of, or it asks them."""
    last, shown = parts[0], len(parts)
    for place, part in enumerate(retriever.following(last, QUESTIONING_CHARS), start=1):
        if part.person_chars and part.lines.first > last.lines.last:
            asks = last.passage.rstrip(" \n*_`)").endswith("?") and last.lines.last == parts[0].lines.last
            words = part.passage[: part.person_chars]
            is_answer = (asks and place >= shown) or is_refusal(words.removeprefix(PERSON))
            return shorten(words, QUESTION_CHARS, placeholder=" …") if is_answer else ""
        last = part
    return ""


def _with_following(retriever: Retriever, chunk: StoredChunk, chars: int) -> list[StoredChunk]:
    """A stretch and what followed it, up to some characters; of one that was dropped, up to where it was."""
    after = retriever.following(chunk, chars - len(chunk.passage))
    if chunk.standing is Standing.DROPPED:
        after = takewhile(lambda part: part.lines.first < chunk.settled_at, after)
    return [chunk, *after]


def _hit(candidate: RankedPassage, reading: ShownStretch, retriever: Retriever) -> Hit:
    settled = reading.parts[0]
    hit = make_hit(candidate, settled, retriever.snapshot.sources[settled.source])
    return replace(hit, passage=reading.passage, lines=reading.lines)


def _place(chunk: StoredChunk) -> tuple[int, int]:
    return chunk.source, chunk.ordinal


def add_spoken(answer: Answer, spoken: Sequence[Hit], limit: int, archived: Collection[str]) -> Answer:
    """An answer of the layers above in which what was said stands for the sessions that it was said in.

    Topics go behind the best passages. What replaced a session is said of what was said in it.
    A note, or a session of which nothing is among the `archived` ones, stands by its own score among what was said.
    """
    replaced = {session_key(hit): hit.replaced_by for hit in answer.hits if hit.replaced_by}
    marked = [replace(hit, replaced_by=replaced.get(session_key(hit))) for hit in spoken]
    known = {session_key(hit) for hit in spoken}
    rest = [hit for hit in answer.hits if session_key(hit) not in known]
    topics = [hit for hit in rest if hit.layer is Layer.TOPIC]
    own = [hit for hit in rest if hit.layer is Layer.SESSION and find_subject(hit.path) not in archived]
    others = [hit for hit in rest if hit not in topics and hit not in own]
    for hit in own:
        marked.insert(next((place for place, one in enumerate(marked) if fit(one) < fit(hit)), len(marked)), hit)
    passages = list(accumulate(1 + len(hit.more_lines) for hit in marked))
    whole = sum(count <= WHOLE for count in passages)
    hits = [*marked[:whole], *topics, *marked[whole:], *others][:limit]
    return replace(answer, hits=tuple(hits), note="" if hits else answer.note)
