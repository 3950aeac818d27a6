"""Memories to look at: the example with a few sessions and changes, and one that somebody hostile has filled."""

import datetime as dt
import shutil

from crawler.quotes import Quote
from crawler.transcripts.turns import Role
from dream.records import Hunk
from tests.crawler.builders import Record, assistant, call, entry_id, person, result, write_transcript
from tests.dream.builders import PERSON, decisions_on, extending, git, proposed, replacing
from tests.system.house import CHECKOUT, House

SESSION = "5f0c2a9e-1d3b-4c6a-9e2f-7b8d1a4c6e90"
STATEMENTS = {
    1: "Mails leave late since Monday. Can you look at the relay?",
    5: "No, that is the old one. The relay listens on port 2526, the old port was closed on Monday.",
    7: "We always restart the relay after a change of its settings, never before ten in the evening.",
    9: "The grey cat also sleeps on the server since the oven is cold.",
}
SCRIPT = "window.executed = (window.executed || 0) + 1"
HOSTILE = (
    f"<script>{SCRIPT}</script><img src=x onerror='{SCRIPT}'><svg onload='{SCRIPT}'></svg> {{{{7*7}}}} "
    f'</textarea></script><iframe src="javascript:{SCRIPT}"></iframe> [x](javascript:{SCRIPT}) '
    f"<a href='javascript:{SCRIPT}'>y</a> \" autofocus onfocus='{SCRIPT}' x=\" ![i](http://127.0.0.1:9/i) "
    "\x1b[31mred\x1b[0m \u202egnp.exe\u202c zero\u200bwidth"
)
MEGABYTE = "a" * 500_000 + " <b>middle</b> " + "b" * 500_000


def fill(house: House) -> list[Hunk]:
    """The example memory with a session, a statement that was taken up, and changes that wait."""
    shutil.copytree(CHECKOUT / "memory", house.root, dirs_exist_ok=True)
    git(house.root, "init", "-q")
    git(house.root, "add", "-A", ":!.oneiros")
    git(house.root, "commit", "-q", "-m", "Begin the memory")
    ingested(
        house,
        SESSION,
        person(1, STATEMENTS[1]),
        assistant(2, "I will look at its unit and its log.", call("Bash", "c1", command="systemctl status relay")),
        result(3, "c1", "relay.service: active (running)\nListening on 10.0.0.7:2525\nconnection refused by peer"),
        assistant(4, "It runs and listens on port 2525."),
        person(5, STATEMENTS[5]),
        assistant(6, "Understood. I correct the client's configuration."),
        person(7, STATEMENTS[7]),
        assistant(8, "Noted; I restarted it."),
        person(9, STATEMENTS[9]),
        assistant(10, "The cat is noted too."),
    )
    decisions, root = decisions_on(house.memory_root), house.memory_root
    [cat] = proposed(
        decisions, extending(root, STATEMENTS[9], "grey cat", name="cats", number=9, quotes=(quoted(9, STATEMENTS[9]),))
    )
    decisions.accept(cat.id, PERSON)
    port, restart = "The relay listens on port 2526", STATEMENTS[7].partition(",")[0]
    return proposed(
        decisions_on(root),
        replacing(root, f"{port}.", "2525", number=5, quotes=(quoted(5, port),)),
        extending(root, f"{restart}.", "2525", number=7, quotes=(quoted(7, restart),)),
    )


def quoted(number: int, words: str, text: str = "") -> Quote:
    """Words of an entry of the session."""
    first, time = (text or STATEMENTS[number]).index(words), dt.datetime(2026, 3, 1, 10, 0, number, tzinfo=dt.UTC)
    return Quote(SESSION, entry_id(number), Role.PERSON, time, first, first + len(words), words)


def ingested(house: House, session: str, *records: Record) -> None:
    """Lets the memory take in a transcript, as Claude Code leaves it."""
    folder = house.folder / ".claude" / "projects" / "-srv-app"
    write_transcript(folder, *({**one, "sessionId": session} for one in records), session=session)
    house.command("ingest")


def fill_hostile(house: House) -> Hunk:
    """Topics, files, titles, turns, notes and a proposal that would like to be more than text."""
    root, session = house.memory_root, "0badc0de-0000-4000-8000-000000000000"
    house.write("mail", f"# {HOSTILE}\n\nThe relay listens on port 2525. {HOSTILE}\n\n<script>{SCRIPT}</script>\n")
    house.write("<img src=x onerror=alert(1)>", f"---\ntitle: '<script>{SCRIPT}</script>'\n---\n\n{HOSTILE}\n")
    house.write("long", f"# Long\n\n{MEGABYTE}\n")
    text = f"The relay listens on port 2526. {HOSTILE}"
    ingested(
        house,
        session,
        person(1, f"{HOSTILE} relay"),
        assistant(2, HOSTILE, call("Bash", "c1", command=f"echo {HOSTILE}", file_path=HOSTILE)),
        result(3, "c1", MEGABYTE),
        assistant(4, f"```html\n{HOSTILE}\n```"),
        person(5, text),
    )
    house.command("episode", HOSTILE, "--title", HOSTILE[:200], "--tag", "<script>")
    time = dt.datetime(2026, 3, 1, 10, 0, 5, tzinfo=dt.UTC)
    quote = Quote(session, entry_id(5), Role.PERSON, time, 0, len(text), text)
    update = extending(root, text, "2525", number=5, quotes=(quote,), why=HOSTILE, project=HOSTILE)
    return proposed(decisions_on(root), update)[0]
