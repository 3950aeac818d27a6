"""`oneiros chat` as a person has it, and that no word of a chat becomes anything of the memory."""

import json
import os
import subprocess
from pathlib import Path

from crawler.archive.store import Archive
from memory_server.layers.topics import find_sources
from tests.crawler.builders import person, write_transcript
from tests.parts.chat.services import openai_events, streaming
from tests.system.at_terminal import WORD, at_terminal
from tests.system.house import House

QUESTION = "Which port does the relay listen on?"
ANSWER = 'It is 2525 [1: "listens on port 2525"], and pink [1: "pink relay"].'
STATEMENT = "From now on the quokka zymurgy server listens on port 9191."


def test_nothing_is_sent_until_a_setting_names_a_back_end(house: House) -> None:
    done = house.command("chat", QUESTION, check=False)

    assert done.returncode == 2
    assert "no model is set that could answer" in done.stderr and "oneiros config chat_backend" in done.stderr


def test_an_answer_comes_with_its_citations_and_is_kept(house: House) -> None:
    with streaming(openai_events(*ANSWER)) as service:
        house.settle(chat_backend="openai-url", chat_url=service.url)
        done = house.command("chat", QUESTION)
        listed = json.loads(house.command("chat", "--list", "--json").stdout)["conversations"]
        [name] = [one["id"] for one in listed]
        house.command("chat", "--load", name[-4:], "And the cat?")
        renamed = house.command("chat", "--rename", name, "Ports", "of", "the", "relay")
        page = house.command("chat", "--export", name).stdout

    assert "It is 2525 【1】, and pink 【2 NOT VERIFIED】." in done.stdout
    assert '【1】 topics/mail.md:3 (approved topic): "listens on port 2525"' in done.stdout
    assert '【2】 NOT VERIFIED: "pink relay" was not found in topics/mail.md' in done.stdout
    assert "1 passages" in done.stderr or "2 passages" in done.stderr
    assert "of 3,000 tokens" in done.stderr and "900 tokens in (500 cached), 30 out, 0.0000 dollars" in done.stderr
    assert "Ports of the relay" in renamed.stdout
    assert page.index(f"## {QUESTION}") < page.index("## And the cat?")
    assert "# Ports of the relay" in page


def test_a_conversation_is_deleted_with_a_word_at_a_terminal_alone(house: House) -> None:
    with streaming(openai_events("2525.")) as service:
        house.settle(chat_backend="openai-url", chat_url=service.url)
        house.command("chat", QUESTION)
    [file] = (house.root / "chats").glob("*.jsonl")
    refused = house.command("chat", "--delete", file.stem, check=False)
    assert refused.returncode != 0 and file.exists()
    seen = at_terminal(house, [WORD], "chat", "--delete", file.stem)

    assert seen.code == 0, seen
    assert not file.exists()


def test_what_was_asked_is_answered_in_a_terminal_until_an_empty_line(house: House) -> None:
    with streaming(openai_events(*ANSWER)) as service:
        house.settle(chat_backend="openai-url", chat_url=service.url)
        steps = [
            ("> ", f"{QUESTION}\n"),
            ("Go on: ", "/wrong 1 The relay listens on port 2526.\n"),
            WORD,
            ("taken up", "\n"),
        ]
        seen = at_terminal(house, steps, "chat")

    assert seen.left == [] and seen.code == 0, seen
    assert "2526" in (house.root / "topics" / "mail.md").read_text(encoding="utf-8")


def test_no_turn_of_a_chat_becomes_archive_index_or_evidence(house: House) -> None:
    """Also not where the person points what is read at the folder itself."""
    with streaming(openai_events(f"Noted: {STATEMENT}")) as service:
        chats = str(house.root / "chats")
        house.settle(
            chat_backend="openai-url",
            chat_url=service.url,
            crawl_roots=[chats, str(house.root)],
            reference_roots=[str(house.root), chats],
            reference_endings=[".md", ".jsonl"],
        )
        house.command("chat", STATEMENT)
    exported = house.command("chat", "--export", Path(next((house.root / "chats").glob("*.jsonl"))).stem).stdout
    (house.root / "chats" / "export.md").write_text(exported, encoding="utf-8")
    write_transcript(house.folder / ".claude" / "projects" / "-srv-app", person(1, "The relay is green."))
    house.command("ingest")
    output = house.command("ingest", "--as", "chat", str(house.root / "chats" / "export.md"), "--me", "me", check=False)
    house.command("reindex")
    house.command("dream", check=False)
    archive = Archive(house.root / "sessions" / "archive")

    assert len(list(archive.session_ids())) == 1
    assert STATEMENT not in "".join(turn.text for one in archive.session_ids() for turn in archive.turns(one))
    assert [source.path for source in find_sources(house.memory_root) if "chats" in source.path] == []
    assert "quokka" not in house.command("exact", "quokka", "--raw", check=False).stdout
    assert "quokka" not in "".join(file.read_text("utf-8") for file in house.root.glob("proposals/**/*.json*"))
    assert output.returncode != 0
    git = ["git", "-C", str(house.root)]
    subprocess.run([*git, "init", "-q"], check=True, env=os.environ)
    status = subprocess.run([*git, "status", "--porcelain", "-uall"], check=True, capture_output=True, text=True)
    assert "chats/" not in status.stdout and "topics/mail.md" in status.stdout
