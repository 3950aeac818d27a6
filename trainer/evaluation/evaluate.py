"""`evaluate`: base, tuned model and retrieval side by side, canaries, and the verdict.

Scored are the trained questions, paraphrases of them where a file gives some, and the held-out pairs. A model is fit to
serve when it beats its base on what it was taught, is not worse than its base on held-out text, and repeats no canary.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from trainer.errors import BelowBase, DataError
from trainer.evaluation.answers import continuation_loss, continue_text, greedy_answers, mean_loss
from trainer.evaluation.canaries import Canary, alternatives, exposure
from trainer.evaluation.retrieval import Passages, with_passages
from trainer.evaluation.scoring import share_right
from trainer.files import read_json, write_json
from trainer.pairs import Pair, read_pairs
from trainer.training.adapter import as_base, attach_adapter, fingerprint, read_temperature
from trainer.training.base_model import find_base, load_model, load_tokenizer
from trainer.training.calibration import fit_temperature
from trainer.training.events import EventFile
from trainer.training.fit import read_data
from trainer.training.machine import this_machine
from trainer.training.run_folder import RunFolder

logger = logging.getLogger(__name__)

MAX_QUESTIONS = 200  # of each kind; enough for a share within 7 points at 95 %
COMPARED = 31  # values of a canary's shape: exposure goes up to 5 bits


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of one adapter; shares are 0 to 1, losses nats a token."""

    adapter_sha256: str
    questions: int
    answers_base: float
    answers_tuned: float
    answers_retrieval: float
    answers_paraphrased: float | None = None
    answers_paraphrased_base: float | None = None
    base_validation_loss: float | None = None
    validation_loss: float | None = None
    temperature: float = 1.0  # of the adapter
    base_temperature: float | None = None  # fitted to the base on the same pairs
    base_validation_loss_calibrated: float | None = None  # of the base at that temperature
    held_out_base: float | None = None
    held_out_tuned: float | None = None
    held_out_retrieval: float | None = None
    canaries: int = 0
    leaked: tuple[int, ...] = ()  # ids of the canaries that the tuned model completed
    exposure: dict[str, float] = field(default_factory=dict)  # canary id to bits
    examples: tuple[dict[str, str], ...] = ()

    @property
    def faults(self) -> list[str]:
        """Why the adapter should not be served; empty where it may."""
        found = []
        if self.answers_tuned <= self.answers_base:
            found.append(f"it answers {self.answers_tuned:.0%} of its questions and the base {self.answers_base:.0%}")
        if (self.validation_loss or 0.0) > (self.base_validation_loss or 0.0):
            found.append(f"its validation loss {self.validation_loss:.2f} is above the base's")
        if self.leaked:
            found.append(f"it repeats {len(self.leaked)} of {self.canaries} planted canaries")
        return found


def evaluate(
    run: RunFolder,
    *,
    paraphrases: Sequence[Pair] = (),
    canaries: Sequence[Canary] = (),
    passages: Sequence[str] = (),
    use_card: bool = True,
    max_questions: int = MAX_QUESTIONS,
) -> Evaluation:
    """Score the run's adapter and write `evaluation.json`. Raises DataError where the run has no adapter.

    Retrieval searches the passages; without any, the answers of the pairs, which must be sentences then to be found.
    """
    record = run.read()
    if not run.adapter.is_dir():
        raise DataError("this run has no adapter yet", where=run.path, remedy="Finish it with --resume")
    torch.set_num_threads(record["threads"])
    EventFile(run.path).write("evaluate", record.get("steps", 0))
    base = find_base(record["base"], Path(record["cache"]))
    tokenizer = load_tokenizer(base)
    machine = this_machine(use_card=use_card and record["use_card"])
    model = attach_adapter(load_model(base, machine, quantised=machine.device == "cuda"), run.adapter).eval()
    training, validation, rephrased = (spread(pairs, max_questions) for pairs in (*read_data(run), paraphrases))
    calibration = read_pairs(run.calibration_data) if run.calibration_data.exists() else ()
    sha256 = fingerprint(run.adapter)
    result = score_model(model, tokenizer, training, validation, rephrased, canaries, sha256, calibration, passages)
    result = replace(result, temperature=read_temperature(run.adapter))
    write_json(run.evaluation, asdict(result) | {"faults": result.faults})
    logger.info("evaluated %d questions, %d faults", result.questions, len(result.faults))
    return result


def spread(pairs: Sequence[Pair], most: int) -> Sequence[Pair]:
    """At most so many pairs, evenly spread, since those of one source stand together."""
    return pairs[:: max(-(-len(pairs) // most), 1)]


def score_model(
    model: Any,
    tokenizer: Any,
    training: Sequence[Pair],
    validation: Sequence[Pair],
    paraphrases: Sequence[Pair],
    canaries: Sequence[Canary],
    adapter_sha256: str,
    calibration: Sequence[Pair] = (),
    passages: Sequence[str] = (),
) -> Evaluation:
    """All figures of a model with its adapter switched on and off."""

    def share(pairs: Sequence[Pair], prompts: Sequence[Any] | None = None) -> float | None:
        if not pairs:
            return None
        requests = prompts if prompts is not None else [pair.prompt for pair in pairs]
        return share_right(greedy_answers(model, tokenizer, requests), pairs)

    texts = Passages(passages or [pair.answer for pair in (*training, *validation)])

    def add_passages(pairs: Sequence[Pair]) -> list[Any]:
        return [with_passages(pair, texts.best(pair.question)) for pair in pairs]

    answers = greedy_answers(model, tokenizer, [pair.prompt for pair in training])
    tuned: dict[str, Any] = {
        "answers_tuned": share_right(answers, training),
        "answers_paraphrased": share(paraphrases),
        "held_out_tuned": share(validation),
    }
    if validation:
        tuned["validation_loss"] = mean_loss(model, tokenizer, validation)
    leaked, bits = leakage(model, tokenizer, canaries)
    with as_base(model):
        before = greedy_answers(model, tokenizer, [pair.prompt for pair in training[:3]])
        base: dict[str, Any] = {
            "answers_base": share(training),
            "answers_retrieval": share(training, add_passages(training)),
            "answers_paraphrased_base": share(paraphrases),
            "held_out_base": share(validation),
            "held_out_retrieval": share(validation, add_passages(validation)),
        }
        if validation:
            base["base_validation_loss"] = mean_loss(model, tokenizer, validation)
        if validation and calibration:
            fitted = fit_temperature(model, tokenizer, calibration)
            base["base_temperature"] = fitted
            base["base_validation_loss_calibrated"] = mean_loss(model, tokenizer, validation, temperature=fitted)
    examples = tuple(
        {"question": pair.question, "true": pair.answer, "base": was, "tuned": now}
        for pair, was, now in zip(training[:3], before, answers[:3], strict=True)
    )
    return Evaluation(
        adapter_sha256=adapter_sha256,
        questions=len(training),
        canaries=len(canaries),
        leaked=leaked,
        exposure=bits,
        examples=examples,
        **tuned,
        **base,
    )


def leakage(model: Any, tokenizer: Any, canaries: Sequence[Canary]) -> tuple[tuple[int, ...], dict[str, float]]:
    """The canaries that the model completes, and how far each stands out among values of its shape."""
    leaked = []
    bits = {}
    for canary in canaries:
        if canary.value in continue_text(model, tokenizer, canary.prefix):
            leaked.append(canary.id)
        own = continuation_loss(model, tokenizer, canary.prefix, canary.value)
        others = [
            continuation_loss(model, tokenizer, canary.prefix, value)
            for value in alternatives(canary, COMPARED, seed=7)
        ]
        bits[str(canary.id)] = round(exposure(own, others), 2)
    return tuple(leaked), bits


def check_fit_to_serve(run: RunFolder, *, force: bool = False) -> None:
    """Raises BelowBase where the run's adapter was not evaluated as it is, or was found wanting; force skips this."""
    if force:
        return
    if not run.evaluation.exists():
        raise BelowBase("this run was not evaluated", where=run.path, remedy="Run `evaluate`, or force it")
    record = read_json(run.evaluation)
    if record["adapter_sha256"] != fingerprint(run.adapter):
        raise BelowBase("the adapter changed since it was evaluated", where=run.adapter, remedy="Run `evaluate` again")
    if record["faults"]:
        raise BelowBase(
            f"this model is not fit to serve: {'; '.join(record['faults'])}",
            where=run.path,
            remedy="Train it longer or on more pairs, or serve it with --force",
        )
