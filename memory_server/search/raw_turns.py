"""The search of layer 3: archived sessions by the words of their turns, each with its best passage.

A session scores by its words as a whole and by its best stretch of neighbouring turns; `join_hits` adds what layer 2
and the vectors of what was said score of the same session, each in units of a typical good hit. Asked for by
`layer:raw` or `include_raw`, or where the first answers are weak.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

import numpy as np

from memory_server.document import Answer, Hit, Layer, Reason, SourcePath, Standing, session_of_path
from memory_server.index.expression import quote_text
from memory_server.index.ledger import StoredChunk
from memory_server.index.raw import WORD, RawIndex, chunk_turns
from memory_server.index.typed_lines import fold_text
from memory_server.language.shortening import shorten_passage
from memory_server.language.words import FUNCTION_WORDS, Stemmer
from memory_server.layers.sessions import cut_id8, parse_id8
from memory_server.search.literal import Where, find_literal, holds
from memory_server.search.precedence import group_hits
from memory_server.search.question import Question
from memory_server.search.ranking.arms import KeywordArm
from memory_server.search.ranking.terms import IndexedTerm, question_terms, rarity
from memory_server.search.retrieval import OF_FADED, RankedPassage, literal_candidate, make_hit

TYPICAL_RAW = 2.0  # the score of a good session; maps scores to 0 to 1
WEAK = 0.55  # a first answer below it: right ones score .59 and more, unrelated ones up to .54
SURE_COVERED = 0.7  # of a question nobody asked the turns; below, most of what is found merely shares a word
NEIGHBOUR_CHARS = 160  # of the passages before and after, shown as context
FIRST_SESSIONS = 3  # sessions
BESIDE_CHARS = 300  # of a turn beside what was said
BEGINNING = 80  # characters of a line, by which its turn is found
LEAST_FADED = 0.5  # of a question that the words of a faded session hold, before it is read
FADED_READ = 12  # sessions; each costs some 10 milliseconds
OF_SESSIONS = frozenset({Layer.SESSION, Layer.RAW})
SPREAD = "all words, spread over the session"


@dataclass(frozen=True, slots=True)
class RawMatch:
    """A session that the words of a question lead to."""

    source: int
    row: int  # its best passage
    score: float  # 0 and up; of a session as a whole, its best stretch, and what one passage covers
    parts: Mapping[str, float]


class RawSearcher:
    """Answers queries on the raw index as it is now."""

    def __init__(self, index: RawIndex, stemmer: Stemmer):
        self._index = index
        self._stemmer = stemmer
        self._indexed_terms = lru_cache(maxsize=1)(self._find_terms)  # several stages ask for those of one question

    def exact(self, question: Question, limit: int) -> list[Hit]:
        """Sessions that hold every word, with the passage that does."""
        with self._index.guard:
            sources, wanted = set(self._find_allowed(question)), limit * max(5, question.per_source)
            in_parts = len(question.terms()) == 1  # a lone identifier is worth reading all turns, a sentence is not
            where = Where(self._index.ledger.keywords, sources)
            matches = find_literal(where, question.expression, wanted, in_parts=in_parts)
            matches.sort(key=lambda match: (match.is_spread, match.closeness))
            found = self._hits([literal_candidate(match, SPREAD) for match in matches])
            words = [part for term in question.terms() for part in WORD.findall(term.text)]
            if found_faded := self._find_faded(question, words, least=1.0):
                found += [hit for hit in self._read(found_faded, words) if holds(question.expression, hit.passage)]
        return group_hits(found, question.per_source)[:limit]

    def recall(self, question: Question, limit: int, *, least_covered: float = 0.0) -> list[Hit]:
        """Sessions by the words of their turns, best first.

        `least_covered`: the share of the question, by rarity, that one stretch of turns must hold.
        """
        with self._index.guard:
            matches = [match for match in self.matches(question) if match.parts["covered"] >= least_covered][:limit]
            found = self._hits([make_candidate(match) for match in matches])
            words = [word for word in WORD.findall(question.text) if word.casefold() not in FUNCTION_WORDS]
            if found_faded := self._find_faded(question, words, least=max(least_covered, LEAST_FADED)):
                read = [hit for hit in self._read(found_faded, words) if hit.parts["covered"] >= least_covered]
                found = sorted([*found, *read], key=lambda hit: -hit.score)[:limit]
            return found

    def _find_terms(self, text: str) -> Sequence[IndexedTerm]:
        """The words of a text, each with the number of passages that hold it."""
        with self._index.guard:
            tables = self._index.snapshot().word_tables
            return question_terms(self._index.ledger.keywords, self._stemmer, text, tables)

    def terms(self, text: str) -> Sequence[IndexedTerm]:
        """The same, but a name that no passage holds has the number of faded sessions that do."""
        with self._index.guard:
            count = self._index.ledger.keywords.source_holders
            return [
                replace(term, holders=count(term.word)) if term.is_name and not term.holders else term
                for term in self._indexed_terms(text)
            ]

    def turn_holding(self, path: SourcePath, text: str) -> int:
        """The turn of a session in which the beginning of a text stands, from 1; 1 where none holds it."""
        select = (
            "select first_line, passage from chunk where source = (select id from source where path = ?) order by id"
        )
        wanted = fold_text(text)[:BEGINNING].rstrip(" …")
        with self._index.guard:
            rows = self._index.ledger.connection.execute(select, (path,))
            return next((int(line) for line, passage in rows if wanted in fold_text(passage)), 1)

    def projects(self) -> frozenset[str]:
        """The names of projects that sessions are of."""
        with self._index.guard:
            return self._index.snapshot().projects

    def matches(self, question: Question) -> list[RawMatch]:
        """Every session that holds a word of the question, best first."""
        keywords, snapshot = self._index.ledger.keywords, self._index.snapshot()
        table = snapshot.passages
        words = KeywordArm(keywords).find(snapshot, self._indexed_terms(question.text))
        allowed = self._find_allowed(question)
        held = words.places[table.find_allowed(allowed, (Layer.RAW,))[words.places]]
        near, covered = words.read_near(held), words.read_covered(held) * words.known
        order = np.lexsort((held, -(near + covered)))
        found = []
        for source, first in zip(*np.unique(table.sources[held][order], return_index=True), strict=True):
            place = order[first]
            parts = {"source": words.of_source[source], "near": near[place], "covered": covered[place]}
            row = int(table.rows[held[place]])
            found.append(RawMatch(int(source), row, float(sum(parts.values())), parts))
        return sorted(found, key=lambda match: (-match.score, match.source))

    # -- sessions of which the index holds the words alone -------------------------------------------------------

    def _find_faded(self, question: Question, words: Sequence[str], *, least: float) -> Sequence[tuple[str, float]]:
        """Faded sessions that hold so much of some words by rarity, each with that share; the best first."""
        connection, sources = self._index.ledger.connection, self._index.snapshot().sources
        whole = "select id from source where not exists (select 1 from chunk where chunk.source = source.id)"
        faded = {row[0] for row in connection.execute(whole)} & self._find_allowed(question)
        if not faded or not words:
            return []
        held: dict[int, float] = {}
        mass = 0.0
        stems = {stem for stem in self._stemmer.stems(list(words)) if stem}
        for stem in stems:
            either = f"{quote_text(stem)}*"
            rows = {row[0] for row in connection.execute("select rowid from bodies where bodies match ?", (either,))}
            weight = rarity(len(rows), len(sources))
            mass += weight
            for row in rows & faded:
                held[row] = held.get(row, 0.0) + weight
        shares = [(sources[row].path, share / mass) for row, share in held.items() if row in sources]
        best = sorted((one for one in shares if one[1] >= least - 1e-9), key=lambda one: (-one[1], one[0]))
        return best[:FADED_READ]

    def _read(self, found: Sequence[tuple[str, float]], words: Sequence[str]) -> list[Hit]:
        """The passage of each session that holds most of some words, read from the archive."""
        stems = [stem for stem in dict.fromkeys(self._stemmer.stems(list(words))) if stem]
        patterns = [re.compile(rf"\b{re.escape(stem)}", re.IGNORECASE) for stem in stems]
        hits = []
        for path, share in found:
            session = self._index.store.session(session_of_path(path))
            document = session.document
            pieces = [chunk for chunk, _ in chunk_turns(document, session.turns)]
            counts = [sum(bool(pattern.search(piece.searchable)) for pattern in patterns) for piece in pieces]
            if not counts:
                continue
            piece = pieces[counts.index(max(counts))]
            covered = max(counts) / len(patterns)
            parts = {"source": share, "near": covered, "covered": covered}
            score = sum(parts.values())
            hits.append(
                Hit(
                    chunk=piece.id,
                    passage=piece.searchable,
                    path=document.path,
                    lines=piece.lines,
                    layer=Layer.RAW,
                    title=document.title,
                    date=document.date,
                    score=score / (score + TYPICAL_RAW),
                    why=(Reason("turns", f"{score:.2f}, {OF_FADED}"),),
                    type=document.kind,
                    parts=parts,
                )
            )
        return hits

    def _find_allowed(self, question: Question) -> frozenset[int]:
        return frozenset(replace(question.filter, layers=()).find_allowed(self._index.snapshot().sources))

    def _hits(self, candidates: Sequence[RankedPassage]) -> list[Hit]:
        """Candidates as hits; those that another process removed meanwhile are left out."""
        chunks = self._index.ledger.chunks([one.row for one in candidates])
        sources = self._index.snapshot().sources
        return [
            replace(make_hit(one, chunk, sources[chunk.source]), passage=self._with_neighbours(chunk))
            for one in candidates
            if (chunk := chunks.get(one.row)) and chunk.source in sources
        ]

    def _with_neighbours(self, chunk: StoredChunk) -> str:
        """A passage with the end of the one before it and the beginning of the one after."""
        rows = self._index.ledger.connection.execute(
            "select ordinal, passage from chunk where source = ? and ordinal in (?, ?)",
            (chunk.source, chunk.ordinal - 1, chunk.ordinal + 1),
        )
        beside = {int(ordinal): " ".join(str(passage).split()) for ordinal, passage in rows}
        before, after = beside.get(chunk.ordinal - 1, ""), beside.get(chunk.ordinal + 1, "")
        lines = [f"… {before[-NEIGHBOUR_CHARS:]}" if before else "", chunk.passage]
        return "\n".join(filter(None, [*lines, f"{after[:NEIGHBOUR_CHARS]} …" if after else ""]))


def make_candidate(match: RawMatch) -> RankedPassage:
    """A session's best passage on its way to becoming a hit."""
    return RankedPassage(match.row, match.score / (match.score + TYPICAL_RAW), (Reason("turns", f"{match.score:.2f}"),))


def join_hits(
    answer: Answer, turns: Sequence[Hit], stretches: Sequence[Hit], shown: Sequence[Hit], limit: int
) -> Answer:
    """An answer of the layers above with what was found of the same sessions elsewhere, one hit a session.

    A session stands as what was said in it, `shown`, with a few lines of the turn that its words lead to, else as that
    turn or stretch, else as its statement. A topic that decides comes first, then FIRST_SESSIONS sessions in which
    most was said, so that nothing is lost that is found without turns, then all others by the sum of their scores.
    """
    first_sessions = [session_key(hit) for hit in shown[:FIRST_SESSIONS]]
    best = [{session_key(hit): hit for hit in reversed(hits)} for hits in (shown, turns, stretches)]
    of_session = {session_key(hit): hit for hit in reversed(answer.hits) if hit.layer in OF_SESSIONS}
    ranked: list[tuple[float, Hit]] = []
    for key in dict.fromkeys([*of_session, *best[1], *best[2]]):
        scored = [found[key] for found in (of_session, best[1], best[2]) if key in found]
        score = sum(compute_odds(hit.score) for hit in scored)
        hit = next(found[key] for found in (*best, of_session) if key in found)
        turn = best[1].get(key)
        if key in best[0] and turn and turn.lines not in (hit.lines, *hit.more_lines):
            hit = with_more(hit, replace(turn, passage=shorten_passage(turn.passage, answer.terms, BESIDE_CHARS)))
        why = tuple(dict.fromkeys(reason for one in scored for reason in one.why))
        ranked.append((score, replace(hit, why=why)))
    ranked += [(compute_odds(hit.score), hit) for hit in answer.hits if hit.layer not in OF_SESSIONS]

    def place(pair: tuple[float, Hit]) -> tuple[bool, int, float, int, str]:
        score, hit = pair
        key = session_key(hit)
        session_place = first_sessions.index(key) if key in first_sessions else len(first_sessions)
        return not is_deciding(hit), session_place, -score, hit.layer.rank, hit.path

    ranked.sort(key=place)
    top = [replace(hit, score=score / (1 + score)) for score, hit in ranked[:limit]]
    return replace(answer, hits=tuple(top), note="" if top and not answer.hits else answer.note)


def is_deciding(hit: Hit) -> bool:
    return hit.decides and hit.layer is Layer.TOPIC


def with_more(hit: Hit, other: Hit) -> Hit:
    """A hit that shows what another one of its source shows too, behind its lines in brackets and what became of it."""
    dropped = f"dropped at turn {other.settled_at}" if other.standing is Standing.DROPPED else ""
    later = [other.amended and f"amended {other.amended}", other.newer and f"newer {other.newer}"]
    marks = ", ".join(filter(None, [str(other.lines), dropped, *later]))
    passage = f"{hit.passage}\n[{marks}] {other.passage}"
    return replace(hit, passage=passage, more_lines=(*hit.more_lines, other.lines))


def append_hits(answer: Answer, more: Sequence[Hit], limit: int, note: str) -> Answer:
    """An answer with hits of a lower layer behind its own, without sessions that it has."""
    known = collect_sessions(answer)
    fresh = (hit for hit in more if hit.layer is not Layer.RAW or session_key(hit) not in known)
    shown = tuple(islice(fresh, max(0, limit - len(answer.hits))))
    return replace(answer, hits=(*answer.hits[:limit], *shown), note=note if shown else answer.note)


def collect_sessions(answer: Answer) -> set[tuple[str, object]]:
    """The sessions that an answer holds something of."""
    return {session_key(hit) for hit in answer.hits if hit.layer in OF_SESSIONS}


def session_key(hit: Hit) -> tuple[str, object]:
    """What a hit of a session's file has in common with one of its turns: the beginning of its id, and its day."""
    session_id = session_of_path(hit.path)
    return (cut_id8(session_id) if session_id else parse_id8(hit.path) or hit.path), hit.date


def compute_odds(score: float) -> float:
    """A score of 0 to 1 as odds, in which scores of two searches add up."""
    return score / max(1.0 - score, 1e-6)
