"""The command that teaches the embedding model."""

from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.data import Seed, talk
from trainer.cli.libraries import quiet_transformers
from trainer.errors import BelowBase, UsageError
from trainer.pairs import read_pairs
from trainer.progress import progress
from trainer.split import split

QUESTIONS = Path(__file__).parents[1] / "questions" / "embedding.jsonl.xz"
HELD_SHARE = 0.2  # of a person's own pairs
DESCRIPTION = {"licence": "Apache-2.0", "languages": ("en",)}


def embed(
    questions: Annotated[Path, typer.Option(help="Passages with questions; the packed ones by default.")] = QUESTIONS,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave this set out, and ask its questions instead.")
    ] = None,
    pairs: Annotated[Path | None, typer.Option(help="Teach your own too: what `memory` or `generate` wrote.")] = None,
    base: Annotated[
        Path | None, typer.Option(help="A folder with safetensors; packaged all-MiniLM-L6-v2 if left out.")
    ] = None,
    query_prefix: Annotated[str, typer.Option(help="What the base wants before a question.")] = "",
    out: Annotated[Path, typer.Option(help="The folder to write; its name is the model's.")] = Path("my-embedder"),
    steps: Annotated[int, typer.Option(min=1, help="Batches of 32 passages.")] = 40,
    threads: Annotated[int, typer.Option(min=1, help="Of the processor.")] = 1,
    seed: Seed = 7,
    cpu: Annotated[bool, typer.Option("--cpu", help="Leave the card alone.")] = False,
) -> None:
    """Teach the embedding model questions and their passages, and write it as a folder for `oneiros model --add`.

    Example: python -m trainer embed --without oh-my-posh --out fold
    """
    import torch  # noqa: PLC0415  (with transformers it takes seconds, which `--help` should not)

    from trainer.embedding.batches import Teacher  # noqa: PLC0415
    from trainer.embedding.encoder import Encoder, find_base  # noqa: PLC0415
    from trainer.embedding.export import write_model  # noqa: PLC0415
    from trainer.embedding.figures import FIRST, ask  # noqa: PLC0415
    from trainer.embedding.fit import Recipe, teach  # noqa: PLC0415
    from trainer.embedding.questions import passages_of_pairs, read_passages  # noqa: PLC0415

    quiet_transformers()
    if out.exists():
        raise UsageError("this folder exists", where=out, remedy="Name another one")
    torch.set_num_threads(threads)
    recipe = Recipe(steps=steps, seed=seed)
    taught = read_passages(questions, without or ())
    held = [one for one in read_passages(questions) if one.set in (without or ())]
    if pairs:
        sides = split(read_pairs(pairs), share=HELD_SHARE, seed=seed, where=pairs)
        taught += passages_of_pairs(sides.training)
        held += passages_of_pairs(sides.validation)
    encoder = Encoder(base or find_base(), query_prefix=query_prefix)
    encoder.to("cuda" if torch.cuda.is_available() and not cpu else "cpu")
    talk(
        f"{len(taught)} passages, {sum(len(one.questions) for one in taught)} questions, {len(held)} passages left out"
    )
    before = ask(encoder, held) if held else None
    with progress("teaching", recipe.steps) as advance:
        teach(encoder, Teacher(taught, encoder), recipe, advance)
    if before:
        after = ask(encoder, held)
        for first in FIRST:
            low, high = after.above(before, first)
            figures = f"{before.hit(first):.3f} before, {after.hit(first):.3f} taught ({low:+.3f} to {high:+.3f})"
            talk(f"found among the first {first} on what was left out: {figures}")
        if pairs and after.hit(FIRST[1]) <= before.hit(FIRST[1]):
            raise BelowBase(
                "the taught model finds no more of what was left out", remedy="Keep the model that you have"
            )
    write_model(encoder, out, DESCRIPTION)
    talk(f"Next: oneiros model --add {out}, then oneiros model --try {out.name}")
    typer.echo(out)
