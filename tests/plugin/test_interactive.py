"""The genuine client as a person uses it: at a terminal, in one conversation."""

import pytest

from crawler.archive.store import Archive
from crawler.transcripts.turns import Role
from oneiros.ingest.settings import archive_folder
from tests.plugin.genuine_client import GenuineClient
from tests.system.house import wait_until

PROMPT = "Which port does the relay listen on?"
EMPTY_LINE = r"^❯$"  # where a person types
ENTER, CLEAR = "\r", "\x15"


@pytest.mark.client
def test_a_person_at_a_terminal_sees_the_status_gets_a_pointer_is_offered_dream_and_is_taken_in(
    client: GenuineClient,
) -> None:
    client.house.warm_up()
    client.api.on("Which port", "It is 2525 for sure.")

    seen = client.at_terminal(
        (r"SessionStart:startup says: oneiros: 2 topics", ""),
        (EMPTY_LINE, PROMPT),
        (rf"^❯ {PROMPT[:-1]}", ENTER),
        (r"It is 2525 for sure\.(.|\n)* done ", "/oneiros:dr"),
        (r"/oneiros:dream +\(oneiros\) Go through what the person said lately", CLEAR),
        (EMPTY_LINE, "/exit"),
        (r"/exit +Exit the CLI", ENTER),
    )

    assert (seen.code, seen.left) == (0, []), seen.screen
    assert "- Mail (topics/mail.md:3): The relay listens on port 2525." in client.api.said()
    (transcript,) = client.settings.glob("projects/*/*.jsonl")
    archive = Archive(archive_folder(client.house.memory_root))
    wait_until(lambda: any(client.house.memory_root.sessions.rglob("*.md")))
    texts = [turn.text for turn in archive.turns(transcript.stem) if turn.role in (Role.PERSON, Role.ASSISTANT)]
    assert texts == [PROMPT, "It is 2525 for sure."]
    wait_until(lambda: client.house.running("oneiros-mcp") == [])
