"""The commands that make training data."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from trainer.errors import UsageError
from trainer.extract import stage as extracting
from trainer.generate import stage as generating
from trainer.generate.budget import Price, check_budget, estimate
from trainer.generate.chat import OllamaGenerator, OpenAiGenerator
from trainer.generate.rules import RuleGenerator
from trainer.memory import make_pairs
from trainer.pairs import SYSTEM, Pair, read_pairs, write_pairs
from trainer.split import split as split_pairs

BackEnd = Literal["rules", "anthropic", "ollama", "openai"]
FREE: frozenset[BackEnd] = frozenset({"rules", "ollama"})
OLLAMA_URL = "http://127.0.0.1:11434"
SAMPLE = 3

Output = Annotated[Path, typer.Option(help="The file to write.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]


def home() -> Path:
    """Where runs, models and the token lie: $ONEIROS_TRAINER_HOME, else the user's cache."""
    named = os.environ.get("ONEIROS_TRAINER_HOME")
    return Path(named) if named else Path.home() / ".cache" / "oneiros-trainer"


def extract(
    inputs: Annotated[list[Path], typer.Argument(help="Documents, or folders of them: PDF, Markdown, text, docx.")],
    out: Output = Path("corpus_chunks.jsonl"),
) -> None:
    """Cut documents into chunks of about 800 tokens.

    Example: python -m trainer extract manual.pdf notes/ --out corpus_chunks.jsonl
    """
    done = extracting.extract(inputs, out)
    talk(f"{done.documents} documents ({done.skipped} done before), {done.chunks} chunks")
    for problem in done.problems:
        talk(problem)
    talk(f"Next: python -m trainer generate {out}")


def generate(
    chunks: Annotated[Path, typer.Argument(help="The file that `extract` wrote.")],
    out: Output = Path("pairs.jsonl"),
    by: Annotated[BackEnd, typer.Option(help="Who writes the pairs.")] = "rules",
    model: Annotated[str, typer.Option(help="The model's name, for all but rules.")] = "",
    url: Annotated[str, typer.Option(help="Where the service is; Anthropic and Ollama have a default.")] = "",
    system: Annotated[str, typer.Option(help="The system message that the pairs are to have.")] = SYSTEM,
    per_chunk: Annotated[int, typer.Option(min=1, max=50, help="Pairs asked for of each chunk.")] = 5,
    price: Annotated[tuple[float, float], typer.Option(help="Dollars per million tokens read, and written.")] = (0, 0),
    budget: Annotated[float, typer.Option(help="Dollars that this run may cost.")] = 0.0,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before text leaves this machine.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show size, cost and destination only.")] = False,
) -> None:
    """Make question-answer pairs from chunks, each checked against its chunk.

    Example: python -m trainer generate corpus_chunks.jsonl --by ollama --model qwen2.5:7b
    """
    found = extracting.read_chunks(chunks)
    back_end = back_end_named(by, model, url, out)
    paid = Price(*price) if any(price) or by in FREE else None
    if by == "anthropic" and paid is None:
        raise UsageError("a paid service needs its prices", remedy="Give --price READ WRITTEN and --budget")
    shared = back_end.list_shared_texts(found) if isinstance(back_end, generating.BatchGenerator) else ()
    plan = estimate(found, per_chunk, paid, shared)
    talk(f"{plan}; the text goes to {back_end.destination}")
    check_budget(plan, budget)
    if dry_run:
        return
    if by != "rules" and not yes and not typer.confirm("Send it?", err=True):
        raise UsageError("nothing was sent", remedy="Add --yes to send without being asked")
    done = generating.generate(found, back_end, out, per_chunk=per_chunk, system=system)
    talk(f"{done.chunks} chunks ({done.skipped} done before), {done.pairs} pairs")
    for reason, count in sorted(done.refused.items()):
        talk(f"{count} pairs refused: {reason}")
    for problem in done.problems:
        talk(problem)
    show_sample(read_pairs(out))
    talk(f"Next: python -m trainer split {out}")


def memory(
    approved: Annotated[Path, typer.Argument(help="The file of `oneiros export --approved`, or a folder of topics.")],
    out: Output = Path("pairs.jsonl"),
    minimum: Annotated[int, typer.Option(help="Fewer pairs are an error.")] = 8,
    canaries: Annotated[int, typer.Option(help="Made-up secrets to plant, to see that none is learnt.")] = 4,
    seed: Seed = 7,
) -> None:
    """Make pairs from approved memory, and preferences from what was rejected.

    Example: python -m trainer memory approved.jsonl --out pairs.jsonl
    """
    made = make_pairs(approved, out, minimum=minimum, canaries=canaries, seed=seed)
    talk(f"{len(made.pairs)} pairs, {len(made.preferences)} preferences, {len(made.refused)} refused")
    for refusal in made.refused:
        talk(refusal)
    show_sample(made.pairs)
    talk(f"Next: python -m trainer split {out}")


def split(
    pairs: Annotated[Path, typer.Argument(help="The file that `generate` or `memory` wrote.")],
    share: Annotated[float, typer.Option(min=0.01, max=0.5, help="What validation gets, about.")] = 0.1,
    seed: Seed = 7,
) -> None:
    """Divide pairs into training and validation: whole sources, or a run of each where they are too few.

    Example: python -m trainer split pairs.jsonl --seed 7
    """
    sides = split_pairs(read_pairs(pairs), share=share, seed=seed, where=pairs)
    names = {"train": sides.training, "validation": sides.validation}
    for name, side in names.items():
        file = pairs.with_name(f"{pairs.stem}.{name}.jsonl")
        write_pairs(file, side)
        talk(f"{file}: {len(side)} pairs of {len({pair.source for pair in side})} sources")
    shared = sides.shared_sources
    apart = f"{shared} sources give a run of chunks each to validation" if shared else "No source stands on both sides"
    talk(f"{apart}; the likest trained answer holds {sides.likeness:.0%} of a held-out one's words")
    train, held = (pairs.with_name(f"{pairs.stem}.{name}.jsonl") for name in names)
    talk(f"Next: python -m trainer train {train} --validation {held}")


def back_end_named(by: BackEnd, model: str, url: str, out: Path) -> generating.BackEnd:
    """The back end of that name. Raises UsageError where it lacks a model, an address or a key."""
    if by == "rules":
        return RuleGenerator()
    if not model:
        raise UsageError(f"--by {by} needs --model")
    if by == "anthropic":
        if not os.environ.get("ANTHROPIC_API_KEY"):
            raise UsageError("ANTHROPIC_API_KEY is not set", remedy="Set it, or use --by ollama or --by rules")
        import anthropic  # noqa: PLC0415  (it takes seconds to import, and only this back end needs it)

        from trainer.generate.anthropic_batches import AnthropicBatches  # noqa: PLC0415

        client = anthropic.Anthropic(base_url=url or None)
        return AnthropicBatches(client, model, out.with_name(f"{out.name}.batch.json"))
    if by == "ollama":
        return OllamaGenerator(url or OLLAMA_URL, model)
    if not url:
        raise UsageError("--by openai needs --url", remedy="For example --url http://127.0.0.1:8000/v1")
    return OpenAiGenerator(url, model, os.environ.get("OPENAI_API_KEY", ""))


def show_sample(pairs: list[Pair] | tuple[Pair, ...]) -> None:
    """A few pairs, evenly spread, for a person to look at before they are taught."""
    talk("A sample, to be read before it is taught:")
    for pair in pairs[:: max(-(-len(pairs) // SAMPLE), 1)]:
        talk(f"  {pair.source}\n    Q: {pair.question}\n    A: {pair.answer}")


def talk(text: str) -> None:
    """A line for the person, on stderr."""
    typer.echo(text, err=True)
