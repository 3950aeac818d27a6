"""The first minutes as an animated picture: what the commands print on a terminal, and how a new session heeds it.

    python -m benchmarks.recording docs/images/first-minutes.svg

A home with one session, written for this, of a project `app`. Each command runs on a terminal of its own and every line
is what it printed, with `~` for the home. The last is the genuine Claude Code with the plugin, against a stand-in for
its service: a language model that saw the client's whole request alone wrote the reply. Both lie in
`recording_turn.json`, without the client's own instructions, which are its maker's. Where what the memory puts before
the model is no longer the same, the whole request is written beside the picture, for a model to answer anew. How long a
picture stands is made up: thirty seconds in all.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from html import escape
from pathlib import Path

import pyte

from tests.crawler.builders import working_session, write_transcript
from tests.plugin.genuine_client import CLIENT, MISSING, GenuineClient
from tests.plugin.messages_api import MessagesApi
from tests.system.at_terminal import WORD, Step, at_terminal
from tests.system.house import House, wait_until

COLUMNS, ROWS, SECONDS = 96, 20, 30
CHARACTER, LINE, MARGIN = 8.0, 18, 14  # pixels
QUESTION = "why does the relay lose its connection"
STATEMENT = "The staging relay listens on port 2526."
PROMPT = "Which port does the staging relay listen on?"
NO = (r"\[[yY]/[nN]\]: ", "n\n")  # to a larger model, where there is a network, and to a key
TERMINAL = {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
COLOURS = {"green": "#7ee787", "red": "#ff7b72", "cyan": "#79c0ff", "brown": "#e3b341", "brightblack": "#8b949e"}
TURN = Path(__file__).with_name("recording_turn.json")  # what memory and person said to a model, and its reply
Frame = tuple[str, float]  # a picture, and for how many parts of the time it stands


def main() -> None:
    """Runs the commands and writes the picture."""
    record(Path(sys.argv[1]))


def record(picture: Path) -> None:
    """Makes the home, plays the commands in it and draws them."""
    with closing(House()) as house:
        played = list(play(house, picture.with_suffix(".request.json")))
        picture.write_text(animate(draw_frames(house, played)), encoding="utf-8")


def play(house: House, unanswered: Path) -> Iterator[tuple[str, str, float]]:
    """Each command as it is typed, what it prints, and how long that is read."""
    shutil.rmtree(house.root)
    house.root = house.folder / ".oneiros" / "memory"
    project = house.folder / "app"
    project.mkdir()
    write_transcript(house.folder / ".claude" / "projects" / "-app", *working_session(cwd=str(project)))
    yield "oneiros init", run(house, [NO, NO], "init"), 3
    yield "oneiros ingest", run(house, [], "ingest"), 2
    yield f'oneiros recall "{QUESTION}" -n 2', run(house, [], "recall", QUESTION, "-n", "2"), 5
    output = run(house, [(r"Where\? [^/]*/ new ", "staging\n"), WORD], "remember", STATEMENT)
    yield f'oneiros remember "{STATEMENT}"', output, 6
    call = {"session_id": "5f0c2a9e-0000-4000-8000-000000000001", "cwd": str(project), "prompt": PROMPT}
    wait_until(lambda: "2526" in house.hook("UserPromptSubmit", call), 60)
    given, reply = ask_client(house, project, unanswered)
    yield f'claude -p "{PROMPT}"', f"{reply}\n\n# by itself the memory had put beside the question:\n{given}", 9


def ask_client(house: House, project: Path, unanswered: Path) -> tuple[str, str]:
    """What the memory puts beside the question in a new session, and what the client prints of the model's reply.

    Ends with what to do where no model has answered this yet.
    """
    if not CLIENT.exists():
        raise SystemExit(MISSING)
    turn = json.loads(TURN.read_text(encoding="utf-8"))
    with closing(MessagesApi()) as api:
        api.on("staging relay", turn["reply"])
        client = GenuineClient(house, api)
        client.folder = project
        client.install_plugin()
        printed = client.command("-p", PROMPT).stdout.strip()
        (request,) = api.requests
    text = "\n".join(block["text"] for message in request["messages"] for block in list_blocks(message["content"]))
    given = re.findall(r"<oneiros-memory[^>]*>\n(.*?)\n</oneiros-memory>", text, re.DOTALL)
    if given != turn["given"]:
        unanswered.write_text(json.dumps(request, indent=1, ensure_ascii=False), encoding="utf-8")
        remedy = f"Have a model answer {unanswered}, and put its reply and what was given into {TURN}"
        raise SystemExit(f"The reply was written to another request. {remedy}:\n{json.dumps(given, indent=1)}")
    return given[-1], printed


def list_blocks(content: str | list[dict[str, str]]) -> list[dict[str, str]]:
    """What a message holds, as blocks of text."""
    return [{"text": content}] if isinstance(content, str) else content


def run(house: House, steps: list[Step], *arguments: str) -> str:
    """What a command prints on a terminal."""
    seen = at_terminal(house, steps, *arguments, variables=TERMINAL)
    assert seen.code == 0, seen
    return seen.screen.strip("\n")


def draw_frames(house: House, played: list[tuple[str, str, float]]) -> list[Frame]:
    """A picture of the terminal before and after each command, each on a screen of its own."""
    frames: list[Frame] = []
    for typed, printed, seconds in played:
        for text, stands in ((f"$ {typed}", 1.2), (f"$ {typed}\n{printed}", seconds)):
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
