"""The commands that make a model, score it and turn it into files for others.

Each imports what it needs when it runs: torch and its company take seconds, and `--help` should not.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trainer.cli.data import home, show_sample, talk
from trainer.cli.libraries import quiet_libraries
from trainer.errors import UsageError
from trainer.evaluation.canaries import read_canaries
from trainer.pairs import read_pairs
from trainer.training.presets import DEFAULT_BASE, choose_preset, find_preset

if TYPE_CHECKING:
    from trainer.evaluation.evaluate import Evaluation
    from trainer.training.fit import Request

LAPTOP_THREADS = 2  # what its figures were measured with

RunArgument = Annotated[Path, typer.Argument(help="The run's folder.")]
UseCpu = Annotated[bool, typer.Option("--cpu", help="Leave the card alone.")]


def train(
    pairs: Annotated[Path | None, typer.Argument(help="Training pairs; left out with --resume.")] = None,
    run: Annotated[Path | None, typer.Option(help="The run's folder; a new one below runs/ by default.")] = None,
    validation: Annotated[Path | None, typer.Option(help="Held-out pairs.")] = None,
    calibration: Annotated[Path | None, typer.Option(help="Pairs of further sources, to fit a temperature.")] = None,
    base: Annotated[str, typer.Option(help="A hub name, a folder, or smollm2-135m.")] = DEFAULT_BASE,
    preset: Annotated[str, typer.Option(help="cpu, 6gb, 16gb or 80gb; by the card's memory if left out.")] = "",
    epochs: Annotated[int, typer.Option(min=0, help="Passes over the pairs; 0 = the preset's.")] = 0,
    max_steps: Annotated[int, typer.Option(min=0, help="End after this many steps; 0 = by epochs.")] = 0,
    save_steps: Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")] = 25,
    seed: Annotated[int, typer.Option(help="The same seed gives the same run.")] = 7,
    threads: Annotated[int, typer.Option(min=0, help="Of the processor; 0 = its cores, at most 4.")] = 0,
    cpu: UseCpu = False,
    download: Annotated[bool, typer.Option("--download", help="Allow fetching the base from the hub.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue --run from its last checkpoint.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be learnt, and stop.")] = False,
) -> None:
    """Train an adapter on pairs.

    Example: python -m trainer train pairs.train.jsonl --validation pairs.validation.jsonl --base smollm2-135m
    """
    from trainer.training.callbacks import StopFlag  # noqa: PLC0415
    from trainer.training.fit import Request, begin  # noqa: PLC0415
    from trainer.training.fit import train as fit  # noqa: PLC0415
    from trainer.training.lock import TrainingLock  # noqa: PLC0415
    from trainer.training.machine import default_threads, this_machine  # noqa: PLC0415
    from trainer.training.recipe import Plan  # noqa: PLC0415
    from trainer.training.run_folder import RunFolder, next_run  # noqa: PLC0415

    quiet_libraries()
    if resume:
        if run is None:
            raise UsageError("--resume needs --run", remedy="Name the folder of the run to continue")
        folder = RunFolder(run)
    else:
        if pairs is None:
            raise UsageError("no pairs were named", remedy="Name the file that `split` wrote")
        machine = this_machine(use_card=not cpu)
        chosen = (
            find_preset(preset) if preset else choose_preset(machine.total_gb if machine.device == "cuda" else None)
        )
        plan = Plan(replace(chosen, epochs=epochs or chosen.epochs), seed, save_steps, max_steps=max_steps)
        request = Request(
            run=run or next_run(home() / "runs"),
            training=pairs,
            validation=validation,
            calibration=calibration,
            base=base,
            cache=home() / "models",
            plan=plan,
            threads=threads or default_threads(),
            use_card=not cpu,
            download=download,
        )
        if dry_run:
            show_plan(request)
            return
        show_sample(read_pairs(pairs))
        folder = begin(request)
    stop = StopFlag()
    stop.listen()
    record = fit(folder, TrainingLock(folder.path.parent), stop)
    if "adapter_sha256" not in record:
        talk(f"Stopped with a checkpoint. Next: python -m trainer train --resume --run {folder.path}")
    else:
        talk(f"{record['steps']} steps in {record['minutes']} minutes. Next: python -m trainer evaluate {folder.path}")
    typer.echo(folder.path)


def evaluate(
    run: RunArgument,
    paraphrases: Annotated[Path | None, typer.Option(help="Trained facts, asked in other words.")] = None,
    canaries: Annotated[Path | None, typer.Option(help="The canaries that `memory` planted.")] = None,
    passages: Annotated[
        Path | None, typer.Option(help="Topics or an export that retrieval searches; else the answers.")
    ] = None,
    cpu: UseCpu = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object.")] = False,
) -> None:
    """Score a run's model beside its base and retrieval; serving needs this.

    Example: python -m trainer evaluate runs/run-1 --canaries pairs.canaries.jsonl
    """
    from trainer.evaluation.evaluate import evaluate as score  # noqa: PLC0415
    from trainer.evaluation.retrieval import read_passages  # noqa: PLC0415
    from trainer.training.run_folder import RunFolder  # noqa: PLC0415

    quiet_libraries()
    result = score(
        RunFolder(run),
        paraphrases=read_pairs(paraphrases) if paraphrases else (),
        canaries=read_canaries(canaries) if canaries else (),
        passages=tuple(read_passages(passages)) if passages else (),
        use_card=not cpu,
    )
    if as_json:
        typer.echo(json.dumps(asdict(result) | {"faults": result.faults}))
    else:
        typer.echo(render_table(result))
    if result.faults:
        talk(f"Not fit to serve: {'; '.join(result.faults)}.")
        raise typer.Exit(1)


def prefer(
    run: RunArgument,
    preferences: Annotated[Path, typer.Argument(help="The preference file that `memory` wrote.")],
    max_steps: Annotated[int, typer.Option(min=0, help="End after this many steps; 0 = one pass.")] = 0,
) -> None:
    """Continue a run on approved against rejected wording (DPO); evaluate again afterwards.

    Example: python -m trainer prefer runs/run-1 pairs.preferences.jsonl
    """
    from trainer.training.lock import TrainingLock  # noqa: PLC0415
    from trainer.training.preference import prefer as optimise_preferences  # noqa: PLC0415
    from trainer.training.run_folder import RunFolder  # noqa: PLC0415

    quiet_libraries()
    figures = optimise_preferences(RunFolder(run), preferences, TrainingLock(run.parent), max_steps=max_steps)
    talk(f"{figures['steps']} steps on {figures['rows']} rows, loss {figures['first']:.3f} to {figures['last']:.3f}")
    talk(f"Next: python -m trainer evaluate {run}")


def merge(run: RunArgument, out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("merged")) -> None:
    """Write base and adapter as one plain model.

    Example: python -m trainer merge runs/run-1 --out merged
    """
    from trainer.training import publish  # noqa: PLC0415
    from trainer.training.run_folder import RunFolder  # noqa: PLC0415

    quiet_libraries()
    typer.echo(publish.merge(RunFolder(run), out))


def export(
    model: Annotated[Path, typer.Argument(help="The folder that `merge` wrote.")],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("model.gguf"),
    kind: Annotated[Literal["f16", "bf16", "q8_0"], typer.Option(help="How weights are stored.")] = "q8_0",
) -> None:
    """Convert a merged model to GGUF, for llama.cpp and Ollama.

    Example: python -m trainer export merged --out oneiros.gguf
    """
    from trainer.training import publish  # noqa: PLC0415

    quiet_libraries()
    typer.echo(publish.export_gguf(model, out, kind=kind))


def laptop(
    epochs: Annotated[int, typer.Option(min=0, help="Passes over the 60 pairs; 0 = the preset's.")] = 0,
    threads: Annotated[int, typer.Option(min=0, help="0 = the processor's cores, at most 2.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object.")] = False,
) -> None:
    """Teach SmolLM2 60 facts about oneiros, serve it, and ask it one of them.

    Example: python -m trainer laptop
    """
    from trainer.laptop import run_laptop  # noqa: PLC0415
    from trainer.training.machine import default_threads  # noqa: PLC0415

    quiet_libraries()
    figures = run_laptop(home(), epochs=epochs, threads=threads or default_threads(LAPTOP_THREADS), report=talk)
    if as_json:
        typer.echo(json.dumps(figures))


def show_plan(request: "Request") -> None:
    """The row that would be trained first, its learnt part marked, and how many rows fit."""
    from trainer.training.base_model import find_base, load_tokenizer  # noqa: PLC0415
    from trainer.training.masking import answer_with_end, fitting  # noqa: PLC0415

    tokenizer = load_tokenizer(find_base(request.base, request.cache, download=request.download))
    pairs = read_pairs(request.training)
    fitting_pairs, too_long = fitting(pairs, tokenizer, request.plan.preset.max_length)
    prompt = tokenizer.apply_chat_template(fitting_pairs[0].prompt, add_generation_prompt=True, tokenize=False)
    talk(
        f"{len(fitting_pairs)} rows, {too_long} too long, {request.plan.total_steps(len(fitting_pairs))} steps, preset "
        f"{request.plan.preset.name}, {request.threads} threads"
    )
    talk(f"Read, not learnt:\n{prompt}\nLearnt:\n{answer_with_end(fitting_pairs[0], tokenizer)}")


def render_table(result: "Evaluation") -> str:
    """The figures for a person, base, tuned model and retrieval side by side."""

    def format_share(value: float | None) -> str:
        return "-" if value is None else f"{value:.0%}"

    def loss(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    rows = (
        ("", "base", "tuned", "retrieval"),
        (
            "trained questions",
            format_share(result.answers_base),
            format_share(result.answers_tuned),
            format_share(result.answers_retrieval),
        ),
        ("paraphrased", format_share(result.answers_paraphrased_base), format_share(result.answers_paraphrased), "-"),
        (
            "held-out questions",
            format_share(result.held_out_base),
            format_share(result.held_out_tuned),
            format_share(result.held_out_retrieval),
        ),
        ("validation loss", loss(result.base_validation_loss), loss(result.validation_loss), "-"),
        ("  base at its own temperature", loss(result.base_validation_loss_calibrated), "-", "-"),
    )
    lines = [f"{name:24}{base:>8}{tuned:>8}{retrieval:>11}" for name, base, tuned, retrieval in rows]
    lines.append(f"canaries leaked: {len(result.leaked)} of {result.canaries}")
    return "\n".join(lines)
