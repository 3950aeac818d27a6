"""Has models read the pieces by hand: writes what they are asked, and packs what they answered for `run`.

    python -m benchmarks.curation.record ask DIR
    python -m benchmarks.curation.record pack DIR

`ask` writes the prompts of `plain` and of `oneiros` to DIR/SYSTEM/NNN.txt, letter by letter as they are sent. Whoever
reads for a model sees one of them at a time and nothing else, and writes the answer to NNN.answer.json beside it.
"""

import argparse
import json
import lzma
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.curation.pieces import read_pieces
from benchmarks.curation.systems import HERE, build_plain_prompts, offer_read
from benchmarks.recorded import hash_prompt
from crawler.model.budget import Price
from crawler.model.client import Completion, Prompt

READ_BY_MODELS = ("plain", "oneiros")


@dataclass(slots=True)
class PromptWriter:
    """A model that notes what it is asked, and finds nothing."""

    name: str = "claude-cli"
    price: Price = field(default_factory=Price)
    prompts: list[str] = field(default_factory=list)

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(f"{prompt.instructions}\n{prompt.session}")
        return Completion("[]", 0, 0)


def main() -> None:
    """Reads the command line and does what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ask", "pack"])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.what == "pack":
        for system in READ_BY_MODELS:
            pack_answers(options.folder / system, HERE / f"{system}.jsonl.xz")
        return
    pieces, writer = read_pieces(), PromptWriter()
    with tempfile.TemporaryDirectory(prefix="oneiros-curation-") as folder:
        list(offer_read(pieces, Path(folder), writer))
    write_prompts(list(build_plain_prompts(pieces)), options.folder / "plain")
    write_prompts(writer.prompts, options.folder / "oneiros")


def write_prompts(prompts: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, prompt in enumerate(prompts, start=1):
        (folder / f"{number:03d}.txt").write_text(prompt, encoding="utf-8")


def pack_answers(folder: Path, file: Path) -> None:
    """Writes the hash of each prompt and its answer, a line each."""
    with lzma.open(file, "wt", encoding="utf-8") as packed:
        for prompt in sorted(folder.glob("[0-9]*.txt")):
            answer = prompt.with_suffix(".answer.json").read_text(encoding="utf-8")
            row = {"prompt_sha256": hash_prompt(prompt.read_text(encoding="utf-8")), "answer": answer}
            packed.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
