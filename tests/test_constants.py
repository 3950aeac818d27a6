"""Each threshold and weight of the core is named in the index of RESULTS.md, with the figures that bear on it."""

import re

from benchmarks.constants import ARITHMETIC, FRACTION, HEADING, MEASURED, RESULTS, read_constants, write_index


def test_the_index_of_constants_is_complete() -> None:
    index = RESULTS.read_text(encoding="utf-8").partition(f"\n{HEADING}\n")[2]

    assert f"{HEADING}\n{index}" == write_index(list(read_constants())), "run `python -m benchmarks.constants --write`"


def test_what_bears_on_a_constant_is_a_section_and_the_constant_is_there() -> None:
    text = RESULTS.read_text(encoding="utf-8")
    headings = set(re.findall(r"(?m)^#{2,4} (.*)$", text))
    there = {(one.file, one.name) for one in read_constants() if one.kind == FRACTION}
    named = [
        (file, name)
        for files in (*MEASURED.values(), ARITHMETIC)
        for file, names in files.items()
        for name in names.split()
    ]

    assert set(MEASURED) <= headings
    assert set(named) <= there
    assert len(named) == len(set(named))
