"""Many answers and losses at once, without a service: what the evaluation needs of a model."""

from collections.abc import Sequence
from typing import Any

import torch

from trainer.errors import NeedsRepair
from trainer.pairs import Pair

MAX_TOKENS = 40  # an answer of one sentence; what comes later is rambling and would only hide a wrong start
BATCH = 64  # a step of many rows costs hardly more than one of few: the weights are read once for all


def greedy_answers(model: Any, tokenizer: Any, prompts: Sequence[Sequence[dict[str, str]]]) -> list[str]:
    """The likeliest answer to each prompt, in order; fewer at once where the card cannot hold so many.

    Raises NeedsRepair where it cannot hold a single one.
    """
    side, tokenizer.padding_side = tokenizer.padding_side, "left"
    answers: list[str] = []
    at_once = BATCH
    try:
        while len(answers) < len(prompts):
            try:
                answers += answer_batch(model, tokenizer, prompts[len(answers) : len(answers) + at_once])
            except torch.OutOfMemoryError as error:
                if at_once == 1:
                    raise NeedsRepair(
                        "the card is too full to answer", remedy="Unload other models, or --cpu"
                    ) from error
                at_once //= 2
                torch.cuda.empty_cache()
    finally:
        tokenizer.padding_side = side
    return answers


def answer_batch(model: Any, tokenizer: Any, prompts: Sequence[Sequence[dict[str, str]]]) -> list[str]:
    """The answers to prompts that are read at once, padded on the left."""
    texts = [
        tokenizer.apply_chat_template(list(prompt), add_generation_prompt=True, tokenize=False) for prompt in prompts
    ]
    encoded = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(model.device)
    with torch.inference_mode():
        rows = model.generate(
            **encoded, max_new_tokens=MAX_TOKENS, do_sample=False, pad_token_id=tokenizer.pad_token_id
        )
    begin = encoded["input_ids"].shape[1]
    return [tokenizer.decode(row[begin:], skip_special_tokens=True).strip() for row in rows]


def mean_loss(model: Any, tokenizer: Any, pairs: Sequence[Pair], *, temperature: float = 1.0) -> float:
    """Cross-entropy in nats a token, over all answer tokens of all pairs with the end of the turn."""
    return mean_losses(model, tokenizer, pairs, [temperature])[0]


def mean_losses(model: Any, tokenizer: Any, pairs: Sequence[Pair], temperatures: Sequence[float]) -> list[float]:
    """The mean loss at each temperature, by which the scores are divided.

    One pair at a time: the scores of all of them, a whole vocabulary a token, would fill the memory.
    """
    sums, tokens = [0.0] * len(temperatures), 0
    for pair in pairs:
        scores, ids = answer_scores(model, tokenizer, pair.prompt, pair.answer)
        tokens += len(ids)
        for place, temperature in enumerate(temperatures):
            sums[place] += float(torch.nn.functional.cross_entropy(scores / temperature, ids, reduction="sum"))
    return [total / tokens for total in sums]


def answer_scores(
    model: Any, tokenizer: Any, prompt: Sequence[dict[str, str]], answer: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each token of the answer the scores of the whole vocabulary, (tokens, v) float32, and its id."""
    given = tokenizer.apply_chat_template(list(prompt), add_generation_prompt=True, return_dict=False)
    whole = tokenizer.apply_chat_template([*prompt, {"role": "assistant", "content": answer}], return_dict=False)
    ids = torch.tensor([whole], device=model.device)
    with torch.inference_mode():
        logits = model(ids).logits[0, len(given) - 1 : -1].float()
    return logits, ids[0, len(given) :]


def continuation_loss(model: Any, tokenizer: Any, prefix: str, value: str) -> float:
    """The summed loss of a value after a bare prefix, in nats; for canaries."""
    given = tokenizer(prefix, return_tensors="pt", add_special_tokens=False)["input_ids"]
    whole = tokenizer(f"{prefix} {value}", return_tensors="pt", add_special_tokens=False)["input_ids"].to(model.device)
    with torch.inference_mode():
        logits = model(whole).logits[0, given.shape[1] - 1 : -1].float()
    return float(torch.nn.functional.cross_entropy(logits, whole[0, given.shape[1] :], reduction="sum"))


def continue_text(model: Any, tokenizer: Any, prefix: str) -> str:
    """How the model goes on after a bare prefix."""
    encoded = tokenizer(prefix, return_tensors="pt", add_special_tokens=False).to(model.device)
    with torch.inference_mode():
        row = model.generate(**encoded, max_new_tokens=MAX_TOKENS, do_sample=False, pad_token_id=tokenizer.pad_token_id)
    return str(tokenizer.decode(row[0][encoded["input_ids"].shape[1] :], skip_special_tokens=True))
