"""What is looked for, word by word: an expression of terms, and how the keyword index is asked for it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from memory_server.language.spelling import unify
from memory_server.language.words import CJK_RUN, cjk_pairs

SENTENCE_MARKS = ".,;:!?"
WORD = re.compile(r"\w+")
HASH = re.compile(r"(?=.*[0-9])[0-9a-f]{7,39}")  # the beginning of one, as git shows it


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for: a word, a phrase or the start of a word."""

    text: str
    is_phrase: bool = False
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    part: "Expression"


Expression: TypeAlias = Term | AllOf | AnyOf | Not


def find_wanted_terms(expression: Expression | None) -> Iterator[Term]:
    """The terms of an expression that are not behind NOT."""
    if isinstance(expression, Term):
        yield expression
    elif isinstance(expression, AllOf | AnyOf):
        for part in expression.parts:
            yield from find_wanted_terms(part)


def unify_term(term: Term) -> str:
    """A term in its one spelling, without the marks that end a sentence unless it is made of nothing else."""
    text = unify(term.text)
    return text if term.is_phrase else text.rstrip(SENTENCE_MARKS) or text


def is_identifier(term: Term) -> bool:
    """Whether a term is compared letter by letter: it holds marks, or characters of a script without blanks."""
    return not term.is_phrase and (not WORD.fullmatch(unify_term(term)) or bool(CJK_RUN.search(unify_term(term))))


def with_open_hashes(expression: Expression) -> Expression:
    """An expression in which a hash may be the beginning of a longer one."""
    if isinstance(expression, Term):
        is_hash = not expression.is_phrase and HASH.fullmatch(unify_term(expression))
        return replace(expression, is_prefix=True) if is_hash else expression
    if isinstance(expression, Not):
        return expression
    return replace(expression, parts=tuple(map(with_open_hashes, expression.parts)))


def fts_query(expression: Expression, *, as_prefix: bool = False) -> str:
    """An expression in the grammar of FTS5, every word quoted; empty where no index can help."""
    if isinstance(expression, Term):
        return _fts_term(expression, as_prefix)
    if isinstance(expression, Not):
        return ""
    if isinstance(expression, AnyOf):
        parts = [fts_query(part, as_prefix=as_prefix) for part in expression.parts]
        return f"({' OR '.join(parts)})" if all(parts) else ""
    wanted = [query for part in expression.parts if (query := fts_query(part, as_prefix=as_prefix))]
    unwanted = [
        query
        for part in expression.parts
        if isinstance(part, Not) and not has_identifier(part.part) and (query := fts_query(part.part))
    ]
    joined = f"({' AND '.join(wanted)})" if wanted else ""
    return f"({joined} NOT ({' OR '.join(unwanted)}))" if joined and unwanted else joined


def quote_text(text: str) -> str:
    """A text as one FTS5 string."""
    return '"' + text.replace("\0", "").replace('"', '""') + '"'


def split_phrases(term: Term, *, as_prefix: bool = False) -> list[tuple[str, bool]]:
    """The phrases that must all occur for a term, each with whether its last word may go on; none without a word."""
    text = unify_term(term)
    if pairs := list(cjk_pairs(text)):
        return [(pair, len(pair) == 1) for pair in pairs]
    if not WORD.search(text.replace("_", "")):
        return []
    return [(text, term.is_prefix or (as_prefix and is_identifier(term)))]


def _fts_term(term: Term, as_prefix: bool) -> str:
    phrases = [quote_text(text) + "*" * is_prefix for text, is_prefix in split_phrases(term, as_prefix=as_prefix)]
    return f"({' AND '.join(phrases)})" if len(phrases) > 1 else "".join(phrases)


def has_identifier(expression: Expression) -> bool:
    """Whether a term of an expression is compared letter by letter."""
    if isinstance(expression, Term):
        return is_identifier(expression)
    parts = (expression.part,) if isinstance(expression, Not) else expression.parts
    return any(has_identifier(part) for part in parts)
