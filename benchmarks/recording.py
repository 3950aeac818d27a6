"""The first minutes as an animated picture: what the commands print on a terminal, and what a new session is given.

    python -m benchmarks.recording docs/images/first-minutes.svg

A home with one session, written for this, of a project `app`. Each command runs on a terminal of its own and every line
is what it printed, with `~` for the home; the hook is run as Claude Code runs it at a prompt. How long a picture stands
is made up: thirty seconds in all.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pyte

from tests.crawler.builders import working_session, write_transcript
from tests.system.at_terminal import WORD, Step, at_terminal
from tests.system.house import House, wait_until

COLUMNS, ROWS, SECONDS = 96, 26, 30
CHARACTER, LINE, MARGIN = 8.0, 18, 14  # pixels
QUESTION = "why does the relay lose its connection"
SAID = "The staging relay listens on port 2526."
PROMPT = "Which port does the staging relay listen on?"
NO = (r"\[[yY]/[nN]\]: ", "n\n")  # to a larger model, where there is a network, and to a key
TERMINAL = {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
COLOURS = {"green": "#7ee787", "red": "#ff7b72", "cyan": "#79c0ff", "brown": "#e3b341", "brightblack": "#8b949e"}
Frame = tuple[str, float]  # a picture, and for how many parts of the time it stands


def main() -> None:
    """Runs the commands and writes the picture."""
    house = House()
    try:
        frames = draw_frames(house, list(play(house)))
    finally:
        house.close()
    Path(sys.argv[1]).write_text(animate(frames), encoding="utf-8")


def play(house: House) -> Iterator[tuple[str, str, float]]:
    """Each command as it is typed, what it prints, and how long that is read."""
    shutil.rmtree(house.root)
    house.root = house.folder / ".oneiros" / "memory"
    project = house.folder / "app"
    project.mkdir()
    write_transcript(house.folder / ".claude" / "projects" / "-app", *working_session(cwd=str(project)))
    yield "oneiros init", run(house, [NO, NO], "init"), 3
    yield "oneiros ingest", run(house, [], "ingest"), 2
    yield f'oneiros recall "{QUESTION}" -n 2', run(house, [], "recall", QUESTION, "-n", "2"), 5
    told = run(house, [(r"Where\? [^/]*/ new ", "staging\n"), WORD], "remember", SAID)
    yield f'oneiros remember "{SAID}"', told, 6
    call = {"session_id": "5f0c2a9e-0000-4000-8000-000000000001", "cwd": str(project), "prompt": PROMPT}
    given: list[str] = []

    def has_answered() -> bool:
        said = json.loads(house.hook("UserPromptSubmit", call) or "{}")
        given.append(said.get("hookSpecificOutput", {}).get("additionalContext", ""))
        return "2526" in given[-1]

    wait_until(has_answered, 60)
    yield f"# a new session of Claude Code is asked: {PROMPT}\n# and is given with it:", given[-1], 8


def run(house: House, steps: list[Step], *arguments: str) -> str:
    """What a command prints on a terminal."""
    seen = at_terminal(house, steps, *arguments, variables=TERMINAL)
    assert seen.code == 0, seen
    return seen.screen.strip("\n")


def draw_frames(house: House, played: list[tuple[str, str, float]]) -> list[Frame]:
    """A picture of the terminal before and after each command, each on a screen of its own."""
    frames: list[Frame] = []
    for typed, printed, seconds in played:
        lead = "" if typed.startswith("#") else "$ "
        for text, stands in ((f"{lead}{typed}", 1.2), (f"{lead}{typed}\n{printed}", seconds)):
            screen = pyte.Screen(COLUMNS, ROWS)
            stream = pyte.Stream(screen)
            stream.feed(text.replace(str(house.folder), "~").replace("\n", "\r\n"))
            frames.append((draw_screen(screen), stands))
    return frames


def draw_screen(screen: pyte.Screen) -> str:
    """What stands on a screen, a `text` a line and a `tspan` for what is coloured or bold."""
    lines = []
    for row in range(ROWS):
        cells = [screen.buffer[row][column] for column in range(len(screen.display[row].rstrip()))]
        runs: list[tuple[str, str]] = []
        for cell in cells:
            colour = COLOURS.get(cell.fg)
            look = (f' fill="{colour}"' if colour else "") + ' font-weight="bold"' * cell.bold
            if runs and runs[-1][0] == look:
                runs[-1] = look, runs[-1][1] + cell.data
            else:
                runs.append((look, cell.data))
        spans = "".join(f"<tspan{look}>{escape(text)}</tspan>" if look else escape(text) for look, text in runs)
        lines.append(f'<text x="{MARGIN}" y="{MARGIN + LINE * (row + 1)}">{spans}</text>' if spans else "")
    return "".join(lines)


def animate(frames: list[Frame]) -> str:
    """The pictures side by side, of which a window shows one after the other."""
    width, height = COLUMNS * CHARACTER + 2 * MARGIN, ROWS * LINE + 3 * MARGIN
    whole, before, steps, pictures = sum(stands for _, stands in frames), 0.0, [], []
    for number, (picture, stands) in enumerate(frames):
        steps.append(f"{100 * before / whole:.2f}%{{transform:translateX({-number * width:.0f}px)}}")
        pictures.append(f'<g transform="translate({number * width:.0f})">{picture}</g>')
        before += stands
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">\n'
        f"<style>@keyframes play{{{''.join(steps)}}} .strip{{animation:play {SECONDS}s steps(1,end) infinite}}"
        "text{font:13.3px ui-monospace,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n<g class="strip">\n'
        + "\n".join(pictures)
        + "\n</g></svg>\n"
    )


if __name__ == "__main__":
    main()
