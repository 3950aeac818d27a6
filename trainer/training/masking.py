"""Rows for training, and the proof that nothing but answers is learnt.

A row is a prompt and a completion, so that the trainer masks the prompt without help from the chat template (which few
models have marked). `check_labels` then looks at the labels the trainer really made.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from trainer.errors import DataError
from trainer.pairs import Pair

IGNORED = -100  # the label on which no loss is taken
MAX_TOO_LONG = 0.1  # a set of which more rows do not fit was made for another length


def make_rows(pairs: Sequence[Pair]) -> list[dict[str, object]]:
    """The pairs as prompt and completion."""
    return [{"prompt": pair.prompt, "completion": [{"role": "assistant", "content": pair.answer}]} for pair in pairs]


def fitting(pairs: Sequence[Pair], tokenizer: Any, max_length: int) -> tuple[list[Pair], int]:
    """The pairs that fit whole, and how many do not.

    The trainer would cut the end of a long row, that is the answer, in silence. Raises DataError where a tenth or more
    of the rows are too long.
    """
    short = [pair for pair in pairs if len(token_ids(pair, tokenizer)) <= max_length]
    too_long = len(pairs) - len(short)
    if not short or too_long > MAX_TOO_LONG * len(pairs):
        raise DataError(
            f"{too_long} of {len(pairs)} rows are longer than {max_length} tokens",
            remedy="Make shorter pairs or use a preset with longer rows",
        )
    return short, too_long


def token_ids(pair: Pair, tokenizer: Any) -> list[int]:
    """The whole row as the model reads it."""
    messages = [*pair.prompt, {"role": "assistant", "content": pair.answer}]
    return list(tokenizer.apply_chat_template(messages, return_dict=False))


def learnt_texts(rows: Iterable[dict[str, Any]], tokenizer: Any) -> list[str]:
    """The text of every unbroken run of tokens that a loss is taken on."""
    texts = []
    for row in rows:
        run: list[int] = []
        for label in [*row["labels"], IGNORED]:
            if label != IGNORED:
                run.append(label)
            elif run:
                texts.append(tokenizer.decode(run))
                run = []
    return texts


def check_labels(rows: Iterable[dict[str, Any]], pairs: Sequence[Pair], tokenizer: Any) -> None:
    """Raises DataError unless the learnt texts are the pairs' answers, each ended by the end-of-turn token."""
    found = Counter(learnt_texts(rows, tokenizer))
    wanted = Counter(answer_with_end(pair, tokenizer) for pair in pairs)
    if found != wanted:
        example = next(iter((found - wanted) or (wanted - found)))
        raise DataError(
            f"the labels are not the answers: {example[:80]!r} is learnt, or missing, by mistake",
            remedy="This base's chat template does not put the answer last; use another base",
        )


def answer_with_end(pair: Pair, tokenizer: Any) -> str:
    """What the chat template adds for the answer: its text, the end-of-turn token and what the template ends with."""
    prompt = tokenizer.apply_chat_template(pair.prompt, add_generation_prompt=True, tokenize=False)
    messages = [*pair.prompt, {"role": "assistant", "content": pair.answer}]
    whole = tokenizer.apply_chat_template(messages, tokenize=False)
    answer = str(whole[len(prompt) :])
    if not answer.startswith(pair.answer) or tokenizer.eos_token not in answer:
        raise DataError(
            "the chat template does not end an answer with the end-of-turn token, so the model would never stop",
            remedy="Use another base",
        )
    return answer
