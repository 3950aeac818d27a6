"""What a terminal shows, and that a pipe gets what it always got."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from oneiros.cli.terminal.output import Screen, inspect_stream, measure_width, show_long

TEXT = " 1  The relay listens on port 2525.\n      sure, decides  topics/mail.md:3  2026-03-02  Mail\n"
NARROW = Screen(columns=30, rows=10, has_colour=True, has_links=True)
HIT = "sure, decides  \x1b]8;;file:///m/topics/mail.md\x1b\\\x1b[36mtopics/mail.md:3\x1b[0m\x1b]8;;\x1b\\  Mail"


class Terminal(io.StringIO):
    """A terminal, as far as a stream tells."""

    def isatty(self) -> bool:
        return True


def test_what_is_no_terminal_gets_the_text_byte_for_byte() -> None:
    for plain in (inspect_stream(io.StringIO(), {"TERM": "xterm"}), inspect_stream(Terminal(), {"TERM": "dumb"})):
        told = plain.style(plain.link(plain.colour_diff(plain.wrap(TEXT)), Path("/m")), bold=True)

        assert told == TEXT


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("The relay listens on port 2525 since March.", ["The relay listens on port 2525", "since March."]),
        (" 1  The relay listens on port 2525.", [" 1  The relay listens on port", "    2525."]),
        ("sources   61 sessions, 61 archived, 2 topics", ["sources   61 sessions, 61", "          archived, 2 topics"]),
        ("    + The relay listens on port 25", ["    + The relay listens on", "      port 25"]),
        ("2 hits. Read on: oneiros read mail:12", ["2 hits. Read on:", "oneiros read mail:12"]),
        ("Mend it, then run `oneiros dream adopt x`.", ["Mend it, then run", "`oneiros dream adopt x`."]),
        ("one two " + "w" * 40, ["one two", "w" * 40]),
        ("", [""]),
    ],
)
def test_a_line_is_broken_between_words(line: str, rows: list[str]) -> None:
    assert NARROW.wrap(line).split("\n") == rows


def test_colours_links_and_wide_characters_count_as_they_are_seen() -> None:
    assert measure_width(HIT) == 37
    assert measure_width("記憶e\u0301") == 5
    assert NARROW.wrap(HIT).split("\n") == ["sure, decides", *HIT.split("  ", 1)[1:]]
    assert [measure_width(row) for row in NARROW.wrap("記憶 " * 8).split("\n")] == [29, 9]


def test_colour_is_left_out_where_the_person_says_so() -> None:
    diff = "    +- new\n    - old\n     - the same\n"
    coloured = "\x1b[32m    +- new\x1b[0m\n\x1b[31m    - old\x1b[0m\n     - the same\n"

    assert inspect_stream(Terminal(), {"TERM": "xterm"}).colour_diff(diff) == coloured
    for plain in (
        inspect_stream(Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}),
        inspect_stream(Terminal(), {"TERM": "xterm"}, no_color=True),
    ):
        assert plain.colour_diff("+ new\n- old") == "+ new\n- old" and plain.columns


@pytest.mark.parametrize(
    ("variables", "has_links"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "tmux-256color", "VTE_VERSION": "7600"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "screen", "FORCE_HYPERLINK": "1"}, True),
    ],
)
def test_links_are_made_where_the_terminal_knows_them(variables: dict[str, str], has_links: bool) -> None:
    assert inspect_stream(Terminal(), variables).has_links == has_links


def test_a_long_text_goes_through_the_pager_and_a_short_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    paged = []
    monkeypatch.setattr("subprocess.run", lambda command, **options: paged.append((command, options["input"])))
    monkeypatch.setattr("oneiros.cli.terminal.output.see_stdout", lambda: NARROW)
    monkeypatch.setenv("PAGER", "cat -u")

    show_long("one\n" * 7)
    assert paged == []
    show_long("one\n" * 9)

    assert paged == [(["cat", "-u"], "one\n" * 9 + "\n")]


def test_rich_is_loaded_for_a_bar_alone() -> None:
    code = "import sys, oneiros.cli.searching, oneiros.cli.maintenance; print('rich' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_status_loads_nothing_of_how_a_memory_is_founded() -> None:
    code = "import sys, oneiros.cli.status; print('oneiros.founding' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_a_question_without_a_daemon_loads_nothing_of_what_reads_sessions() -> None:
    code = "import sys, oneiros.cli.opened; print('crawler.compress.typed' in sys.modules, 'ssl' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False False\n"
