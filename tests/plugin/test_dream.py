"""/oneiros:dream in the genuine client: from a person's sentence to an accepted hunk in a commit."""

import json
import re

import pytest

from crawler.archive.store import Archive
from dream.judge.filing import make_slug
from memory_server.layers.sessions import project_name
from tests.dream.builders import begin_history, git
from tests.plugin.genuine_client import GenuineClient, results_in
from tests.plugin.messages_api import Body, Call
from tests.system.at_terminal import SETTLE, TAKE_UP, WORD, at_terminal
from tests.system.house import wait_until

TOOLS = "mcp__plugin_oneiros_memory__"
STATEMENT = "From now on the relay listens on port 2600."
SESSION_HEAD = re.compile(r"^=== session (\w+);", re.MULTILINE)  # as a page shows it
PERSONS_ENTRY = re.compile(r"^\[(\w+)\] person$", re.MULTILINE)


def propose(body: Body) -> Call:
    """Proposes what the evidence quotes, as a model would, from nothing but what the tool showed."""
    evidence = next(results_in(body["messages"]))
    quote = {
        "session": SESSION_HEAD.findall(evidence)[0],
        "entry": PERSONS_ENTRY.findall(evidence)[0],
        "text": STATEMENT,
    }
    return Call(f"{TOOLS}propose_promotion", {"target": "mail", "text": STATEMENT, "quotes": [quote]})


@pytest.mark.client
def test_what_a_person_asks_to_remember_is_proposed_with_their_own_sentence(client: GenuineClient) -> None:
    text = "The label printer is on the third floor."

    def propose_it(body: Body) -> Call:
        session = re.findall(r"its session is `([0-9a-f-]{36})`", json.dumps(body["messages"]))[-1]
        wait_until(lambda: text in "".join(turn.text for turn in archive_of(client).turns(session)), 60)
        quote = {"session": session, "entry": "", "text": text}
        return Call(f"{TOOLS}propose_promotion", {"target": "printing", "text": text, "quotes": [quote]})

    client.api.on("It becomes a proposal, not a topic", propose_it, "Proposed.")

    reply = client.ask(f"/oneiros:remember {text}")

    assert f"Proposed for topics/{own_project(client)}/printing.md" in reply.results()[0]


def own_project(client: GenuineClient) -> str:
    """The folder of topics of the project that the client works in, whose name may hold a `_`."""
    return make_slug(project_name(str(client.folder)))


def archive_of(client: GenuineClient) -> Archive:
    return Archive(client.house.root / "sessions" / "archive")


@pytest.mark.client
def test_a_refused_proposal_passes_as_the_answer_says_and_several_go_in_one_call(client: GenuineClient) -> None:
    other = "We decided to use musl for release builds."
    client.api.on("relay listens", "Noted.")
    session_id = client.ask(f"{STATEMENT} {other}").session_id
    archive = archive_of(client)
    wait_until(lambda: len(list(archive.turns(session_id))) == 2, 60)
    wait_until(lambda: any((client.house.root / "sessions" / "compressed").rglob("*.md")), 60)

    def propose_both(body: Body) -> Call:
        first = dict(propose(body).arguments)
        says_more = {
            "target": "builds",
            "text": f"{other.rstrip('.')}, nightly tests, demos and previews.",
            "quotes": first["quotes"],
        }
        return Call(f"{TOOLS}propose_promotion", first | {"more": [says_more]})

    def propose_what_passes(body: Body) -> Call:
        answer = list(results_in(body["messages"]))[-1]
        (text, entry, words) = re.findall(r'text ("[^"]+"), quotes: entry (\S+) ("[^"]+")', answer)[0]
        session = SESSION_HEAD.findall(next(results_in(body["messages"])))[0]
        quote = {"session": session, "entry": entry, "text": json.loads(words)}
        return Call(f"{TOOLS}propose_promotion", {"target": "builds", "text": json.loads(text), "quotes": [quote]})

    evidence = Call(f"{TOOLS}dream_evidence")
    begun = "Propose changes to this person's approved memory"
    client.api.on(begun, evidence, propose_both, propose_what_passes, "Review.")

    _, both, again = client.ask("/oneiros:dream").results()

    assert both.startswith("1. Proposed for topics/mail.md") and "2. Refused." in both
    assert again.startswith(f"Proposed for topics/{own_project(client)}/builds.md")


@pytest.mark.client
def test_what_a_person_said_becomes_a_commit_once_they_accept_it(client: GenuineClient) -> None:
    house = client.house
    (house.root / ".gitignore").write_text(".oneiros/\nproposals/\nsessions/\n.blackboard/\n", encoding="utf-8")
    begin_history(house.root)
    client.api.on("listens on port 2600", "Noted.")
    session_id = client.ask(STATEMENT).session_id
    archive = archive_of(client)
    wait_until(lambda: len(list(archive.turns(session_id))) == 2, 60)
    wait_until(lambda: any((house.root / "sessions" / "compressed").rglob("*.md")), 60)

    client.api.on(
        "Propose changes to this person's approved memory", Call(f"{TOOLS}dream_evidence"), propose, "Review."
    )
    reply = client.ask("/oneiros:dream")

    evidence, proposed = reply.results()
    assert STATEMENT in evidence
    assert "oneiros review" in proposed and "Refused" not in proposed
    seen = at_terminal(house, [(TAKE_UP, "a\n"), SETTLE, WORD], "review")
    assert seen.code == 0 and f"  {STATEMENT}\n    in these words: you, " in seen.screen
    assert "2600" in (house.root / "topics" / "mail.md").read_text(encoding="utf-8")
    assert git(house.root, "log", "-1", "--format=%s").startswith("Take up")
    assert "topics/mail.md" in house.command("exact", "2600").stdout


@pytest.mark.client
def test_what_is_captured_is_filed_as_said_marked_where_inferred_and_an_observation_becomes_a_note(
    client: GenuineClient,
) -> None:
    text = "We keep invoices for ten years, see docs/retention.md."
    observed = "The tests need a running printer."

    def propose_it(body: Body) -> Call:
        [session] = set(re.findall(r"its session[\\n ]*`([0-9a-f-]{36})`", json.dumps(body["messages"])))
        wait_until(lambda: text in "".join(turn.text for turn in archive_of(client).turns(session)), 60)
        quote = {"session": session, "entry": "", "text": text}
        filed = {"namespace": "decisions/storage", "tags": ["invoices"], "citations": ["docs/retention.md"]}
        wanted = {"target": "invoices", "text": text, "quotes": [quote], "type": "semantic", **filed}
        return Call(f"{TOOLS}propose_promotion", wanted)

    note = Call("Bash", {"command": f'oneiros episode "{observed}"', "description": "Note it"})
    client.api.on("Capture for this person's memory", propose_it, note, "Captured.")

    proposed, noted = client.ask(f"/oneiros:capture {text}").results()

    assert f"Proposed for topics/{own_project(client)}/invoices.md (new)" in proposed
    seen = at_terminal(client.house, [(TAKE_UP, "a\n"), SETTLE, WORD], "review")
    assert "namespace: decisions/storage (agent_inferred)" in seen.screen and "tags: invoices\n" in seen.screen
    topic = (client.house.root / "topics" / own_project(client) / "invoices.md").read_text(encoding="utf-8")
    assert 'agent_inferred: "semantic, decisions/storage"' in topic and "cites docs/retention.md" in topic
    written = (client.house.root / noted.split()[-1]).read_text(encoding="utf-8")
    assert observed in written and "sourceType: agent_inferred" in written
