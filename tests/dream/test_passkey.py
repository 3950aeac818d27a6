"""A passkey signs decisions from the page: what it signs is what is done, and nothing else decides."""

import copy
import dataclasses
import datetime as dt
import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dream.changes import Event
from dream.decisions.accept import Decisions
from dream.decisions.chain import Chain, ChainEntry, Head, make_entry
from dream.decisions.page import Chosen
from dream.decisions.passkey import Assertion, Passkey, require_signed
from dream.decisions.presence import Consent, How
from dream.proposals.store import Approval
from dream.records import Hunk, State
from memory_server.errors import ContentError, UsageError
from memory_server.root.paths import MemoryRoot
from parts.page.passkeys.browser import encode_base64, parse_assertion, verify_passkey
from parts.page.passkeys.signing import PendingPasskeys, hash_shown
from tests.dream.authenticator import SoftAuthenticator, changed
from tests.dream.builders import NOW, PERSON, extending, new_topic, proposed
from tests.dream.test_consent import committed_memory, made_key, on, public_line, signed, start
from tests.memories import copy_root, write_topic

ORIGIN = "http://localhost:8377"
BYTES = bytes(range(32))
WORD = "amber harbor"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signing key whose passphrase a test need not type."""
    return made_key(tmp_path_factory.mktemp("key") / "key")


class Page:
    """A page of a daemon, and the person's device beside it."""

    def __init__(self, root: MemoryRoot, key: Path | None = None, **device: Any):
        self.root, self.key, self.now = root, key, NOW
        self.device = SoftAuthenticator(**device)
        self.pending = PendingPasskeys(lambda: self.now)

    @property
    def decisions(self) -> Decisions:
        return on(self.root, self.key, self.now)

    @property
    def chain(self) -> Chain:
        return Chain(self.root, public_line(self.key) if self.key else "")

    def registers(self, name: str = "laptop", *, is_signed: bool = True) -> Passkey:
        """The person begins at a terminal, answers on the page, and says yes at the terminal."""
        self.pending.begin(WORD, name)
        self.pending.register(WORD, self.device.make(self.pending.options_to_register(WORD, ORIGIN, ())))
        passkey = self.pending.take_registered(WORD)
        assert passkey is not None
        self.notes(Event.REGISTERED, passkey, is_signed=is_signed)
        return passkey

    def notes(self, event: Event, passkey: Passkey, *, is_signed: bool = True) -> None:
        decisions = self.decisions
        decisions.note_passkey(event, passkey, Consent(How.KEY if self.key else How.WORD))
        if self.key and is_signed:
            signed(decisions, self.key)

    def asks(self, *choices: Chosen, shown: Mapping[str, str] | None = None) -> dict[str, Any]:
        """What the browser is asked for these choices, as they were shown."""
        store = self.decisions.store
        seen = {one.hunk: hash_shown(self.decisions, store.hunk(one.hunk)) for one in choices}
        return self.pending.freeze(self.decisions, choices, seen if shown is None else shown, ORIGIN)

    def answers(self, answer: Mapping[str, Any], origin: str = ORIGIN) -> list[State]:
        return [done.hunk.state for done in self.pending.sign(self.decisions, answer, origin)]

    def decides(self, *choices: Chosen) -> list[State]:
        return self.answers(self.device.sign(self.asks(*choices)))


def yes(hunk: Hunk, text: str | None = None) -> Chosen:
    return Chosen(hunk.id, "accept", text)


def no(hunk: Hunk, reason: str = "no") -> Chosen:
    return Chosen(hunk.id, "reject", reason=reason)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> MemoryRoot:
    made = committed_memory(tmp_path_factory.mktemp("told") / "memory")
    start(made, days=-10)
    start(made)
    return made


@pytest.fixture
def root(told: MemoryRoot, tmp_path: Path) -> MemoryRoot:
    return copy_root(told, tmp_path / "memory")


@pytest.fixture
def page(root: MemoryRoot) -> Page:
    """A memory without a key, whose person has registered a passkey."""
    made = Page(root)
    made.registers()
    return made


@pytest.fixture(scope="module")
def signed_once(told: MemoryRoot, key: Path, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A memory with a key, which has signed a passkey of its person."""
    root = copy_root(told, tmp_path_factory.mktemp("signed") / "memory")
    decisions = on(root, key)
    decisions.adopt_explained(Consent(How.KEY))
    signed(decisions, key)
    made = Page(root, key)
    made.registers()
    start(root, key)
    return made


@pytest.fixture
def keyed(signed_once: Page, key: Path, tmp_path: Path) -> Page:
    """That memory and its person's device, for one test."""
    page = Page(copy_root(signed_once.root, tmp_path / "memory"), key)
    page.device = copy.copy(signed_once.device)
    return page


def hunks(page: Page) -> tuple[Hunk, Hunk, Hunk]:
    """One that extends a topic, another one for the same topic, and one that founds a topic."""
    said = (extending(page.root, "It hums.", "old"), extending(page.root, "It is loud.", "old", number=2))
    first, second, third = proposed(page.decisions, *said, new_topic("Backups run.", "backups", 3))
    return first, second, third


# -- what it can do -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_key", [True, False])
def test_what_a_passkey_signed_is_done_explained_and_named_nowhere(
    with_key: bool, request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue("keyed" if with_key else "page")
    first, second, third = hunks(page)
    start(page.root, page.key, days=5)

    states = page.decides(yes(first), yes(second, "The relay is very loud."), no(third))

    assert states == [State.ACCEPTED, State.ACCEPTED, State.REJECTED]
    text = (page.root.topics / "mail.md").read_text(encoding="utf-8")
    assert "It hums." in text and "The relay is very loud." in text and not (page.root.topics / "backups.md").exists()
    assert page.decisions.find_unexplained() == [] and start(page.root, page.key, days=8) == ""
    assert [one.hunk for one in page.decisions.rejections()] == [third.id]
    assert [entry.how for entry in page.chain.entries[-4:]] == ["passkey"] * 4
    approvals = [one for one in page.decisions.store.approvals() if one.event is Event.ACCEPTED]
    assert [page.decisions.is_signed(one) for one in approvals] == [True, True]


def test_what_it_signed_holds_on_any_machine_that_knows_the_key(keyed: Page, key: Path, tmp_path: Path) -> None:
    first, _, third = hunks(keyed)
    keyed.decides(yes(first), yes(third))

    elsewhere = MemoryRoot(keyed.root.path, tmp_path / "another machine")

    assert on(elsewhere, key).find_unexplained() == []
    assert Chain(elsewhere, public_line(key)).find_unknown() == []
    assert {one.path for one in on(elsewhere, made_key(tmp_path / "other")).find_unexplained()} > {"topics/mail.md"}


def test_an_entry_that_a_passkey_signed_holds_no_word(page: Page) -> None:
    first, second, third = hunks(page)
    page.decides(yes(first), yes(second, "The relay is very loud."), no(third, "nobody needs it"))

    written = page.root.decisions.read_text(encoding="utf-8")

    assert not any(word in written for word in ("hums", "loud", "Backups", "nobody"))


def test_entries_of_before_keep_their_bytes(page: Page) -> None:
    entry = make_entry(Approval(Event.ADOPTED, NOW, (), nonce="x"), "word")

    assert list(json.loads(entry.line)) == (
        "event at how nonce previous hunk files terminal ancestors covers key signature".split()
    )


def test_a_key_that_is_made_later_signs_the_passkey_too(page: Page, key: Path) -> None:
    first, _, _ = hunks(page)
    page.decides(yes(first))

    page.key = key
    decisions = page.decisions
    decisions.adopt_explained(Consent(How.KEY))
    signed(decisions, key)

    [_, second, _] = page.decisions.store.proposals()[0].hunks
    assert list(page.chain.passkeys()) and page.decides(yes(second)) == [State.ACCEPTED]
    assert page.decisions.find_unexplained() == []


# -- whose passkey it is --------------------------------------------------------------------------------------------


def test_a_passkey_that_the_key_did_not_sign_decides_nothing(root: MemoryRoot, key: Path) -> None:
    decisions = on(root, key)
    decisions.adopt_explained(Consent(How.KEY))
    signed(decisions, key)
    page = Page(root, key)
    page.registers(is_signed=False)
    first, _, _ = hunks(page)

    with pytest.raises(UsageError, match="no passkey is registered"):
        page.asks(yes(first))

    assert "1 registered in passkey laptop SHA256:" in start(root, key)


def test_a_passkey_cannot_vouch_for_another(keyed: Page, key: Path) -> None:
    """A program that once got a signature puts a registration of its own among what is covered."""
    stranger = SoftAuthenticator()
    options = {"challenge": "AAAA"}
    passkey = verify_passkey(stranger.make(options), b"\0\0\0", ORIGIN, "stranger")
    registered = dataclasses.replace(
        make_entry(Approval(Event.REGISTERED, NOW, (), nonce="r"), "passkey"),
        passkey=passkey,
        previous=keyed.chain.last,
    )
    keyed.chain.add([registered])
    signing = ChainEntry(Event.SIGNED, NOW, "passkey", "n", keyed.chain.last, covers=(keyed.chain.last,))
    answer = keyed.device.sign({"challenge": encode_base64(signing.challenge)})
    keyed.chain.add([dataclasses.replace(signing, assertion=parse_assertion(answer))])

    assert keyed.chain.is_signed(len(keyed.chain.entries) - 2)
    assert [one.name for one in keyed.chain.passkeys().values()] == ["laptop"]


def test_a_clone_brings_no_passkey(page: Page, tmp_path: Path) -> None:
    elsewhere = MemoryRoot(page.root.path, tmp_path / "another machine")

    assert page.chain.passkeys() and not Chain(elsewhere, "").passkeys()


@pytest.mark.parametrize("with_key", [True, False])
def test_a_removed_passkey_signs_nothing_more_and_what_it_signed_stands(
    with_key: bool, request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue("keyed" if with_key else "page")
    first, second, _ = hunks(page)
    page.decides(yes(first))
    [passkey] = page.chain.passkeys().values()
    waiting = page.device.sign(page.asks(yes(second)))

    page.notes(Event.WITHDRAWN, passkey)

    with pytest.raises(UsageError, match="not registered"):
        page.answers(waiting)
    with pytest.raises(UsageError, match="no passkey is registered"):
        page.asks(yes(second))
    assert page.decisions.find_unexplained() == []


def test_an_assertion_of_a_removed_passkey_vouches_for_nothing_behind_its_removal(keyed: Page) -> None:
    first, _, _ = hunks(keyed)
    [passkey] = keyed.chain.passkeys().values()
    keyed.notes(Event.WITHDRAWN, passkey)
    decisions = keyed.decisions
    decisions.accept(first.id, PERSON)
    signing = ChainEntry(Event.SIGNED, NOW, "passkey", "n", keyed.chain.last, covers=(keyed.chain.last,))
    answer = keyed.device.sign({"challenge": encode_base64(signing.challenge)})
    keyed.chain.add([dataclasses.replace(signing, assertion=parse_assertion(answer))])

    assert {one.path for one in keyed.decisions.find_unexplained()} >= {"topics/mail.md"}


# -- registration ---------------------------------------------------------------------------------------------------


def test_a_registration_needs_the_word_of_a_terminal(page: Page) -> None:
    with pytest.raises(UsageError, match="wrong, used or too old"):
        page.pending.options_to_register(WORD, ORIGIN, ())
    page.pending.begin("another word", "mine")
    with pytest.raises(UsageError, match="wrong, used or too old"):
        page.pending.options_to_register(WORD, ORIGIN, ())
    with pytest.raises(UsageError, match="no passkey was asked for"):
        page.pending.register("another word", page.device.make({"challenge": "AAAA"}))


def test_a_word_registers_one_passkey(page: Page) -> None:
    page.pending.begin(WORD, "mine")
    answer = page.device.make(page.pending.options_to_register(WORD, ORIGIN, ()))
    page.pending.register(WORD, answer)

    with pytest.raises(UsageError):
        page.pending.register(WORD, answer)
    with pytest.raises(UsageError):
        page.pending.options_to_register(WORD, ORIGIN, ())
    assert page.pending.take_registered(WORD)
    with pytest.raises(UsageError):
        page.pending.take_registered(WORD)


def test_a_word_is_good_for_five_minutes(page: Page) -> None:
    page.pending.begin(WORD, "mine")
    assert page.pending.take_registered(WORD) is None
    options = page.pending.options_to_register(WORD, ORIGIN, ())

    page.now += dt.timedelta(minutes=5)

    with pytest.raises(UsageError):
        page.pending.register(WORD, page.device.make(options))
    with pytest.raises(UsageError):
        page.pending.take_registered(WORD)


@pytest.mark.parametrize(
    ("device", "why"),
    [
        ({"verifies": False}, "user was not verified"),
        ({"origin": "http://localhost:8378"}, "origin"),
        ({"origin": "http://127.0.0.1:8377"}, "origin"),
        ({"origin": "https://localhost:8377"}, "origin"),
    ],
)
def test_a_passkey_of_another_page_or_without_its_person_is_not_taken(
    page: Page, device: dict[str, Any], why: str
) -> None:
    page.pending.begin(WORD, "mine")
    options = page.pending.options_to_register(WORD, ORIGIN, ())

    with pytest.raises(UsageError, match=why):
        page.pending.register(WORD, SoftAuthenticator(**device).make(options))

    assert page.pending.take_registered(WORD) is None


# -- signatures that do not count -----------------------------------------------------------------------------------


def test_an_assertion_decides_once(page: Page) -> None:
    first, second, _ = hunks(page)
    answer = page.device.sign(page.asks(yes(first)))
    page.answers(answer)

    with pytest.raises(UsageError, match="nothing waits"):
        page.answers(answer)
    page.asks(yes(second))
    with pytest.raises(UsageError, match="nothing waits"):
        page.answers(answer)
    assert page.decisions.store.hunk(second.id).state is State.PENDING


def test_a_challenge_is_burnt_by_a_wrong_answer_and_by_time(page: Page) -> None:
    first, _, _ = hunks(page)
    answer = page.device.sign(page.asks(yes(first)))
    with pytest.raises(UsageError):
        page.answers(changed(answer, "signature", 9))
    with pytest.raises(UsageError, match="nothing waits"):
        page.answers(answer)
    late = page.device.sign(page.asks(yes(first)))

    page.now += dt.timedelta(minutes=2)

    with pytest.raises(UsageError, match="nothing waits"):
        page.answers(late)
    assert page.decisions.store.hunk(first.id).state is State.PENDING


def test_an_answer_to_another_challenge_decides_nothing(page: Page) -> None:
    first, second, _ = hunks(page)
    other, wanted = page.asks(yes(second)), page.asks(yes(first))
    answer = page.device.sign(other)
    answer["response"]["clientDataJSON"] = page.device.sign(wanted)["response"]["clientDataJSON"]

    with pytest.raises(UsageError, match="signature"):
        page.answers(answer)

    assert page.decisions.store.hunk(first.id).state is State.PENDING


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"origin": "http://localhost:8378"}, "origin"),
        ({"origin": "http://127.0.0.1:8377"}, "origin"),
        ({"origin": "http://localhost"}, "origin"),
        ({"crossOrigin": True}, "frame"),
        ({"type": "webauthn.create"}, "type"),
    ],
)
def test_a_signature_of_another_page_decides_nothing(page: Page, wrong: dict[str, object], why: str) -> None:
    first, _, _ = hunks(page)
    options = page.asks(yes(first))

    with pytest.raises(UsageError, match=why):
        page.answers(page.device.sign(options, **wrong))

    assert page.decisions.store.hunk(first.id).state is State.PENDING


def test_a_signature_that_another_port_brings_decides_nothing(page: Page) -> None:
    first, _, _ = hunks(page)
    answer = page.device.sign(page.asks(yes(first)))

    with pytest.raises(UsageError, match="nothing waits"):
        page.answers(answer, "http://localhost:8378")


@pytest.mark.parametrize("what", ["person", "device", "rp", "count"])
def test_a_signature_without_its_person_or_of_another_device_decides_nothing(page: Page, what: str) -> None:
    first, second, _ = hunks(page)
    if what == "count":
        page.device.count = 7
        page.decides(yes(second))
        page.device.count = 6  # a copy of the device that has signed less
    options = page.asks(yes(first))
    if what == "device":
        known = page.device.id
        page.device = SoftAuthenticator()
        page.device.id = known
    page.device.verifies = what != "person"
    page.device.rp_id = "elsewhere" if what == "rp" else "localhost"

    with pytest.raises(UsageError, match="does not count"):
        page.answers(page.device.sign(options))

    assert page.decisions.store.hunk(first.id).state is State.PENDING


def test_no_mutation_of_an_answer_decides_or_raises_anything_else(page: Page) -> None:
    chance = random.Random(7)
    [passkey] = page.chain.passkeys().values()
    answer, registration = (ask({"challenge": encode_base64(BYTES)}) for ask in (page.device.sign, page.device.make))
    require_signed(passkey, BYTES, parse_assertion(answer), ORIGIN, 0)
    for _ in range(500):
        part = chance.choice(["clientDataJSON", "authenticatorData", "signature"])
        odd = parse_assertion(changed(answer, part, chance.randrange(500)))
        with pytest.raises(UsageError):
            require_signed(passkey, BYTES, odd, ORIGIN, 0)
        part = chance.choice(["clientDataJSON", "attestationObject"])
        with suppress(UsageError):  # a bit of the credential's id, or of the device's kind, is nobody's to check
            verify_passkey(changed(registration, part, chance.randrange(500)), BYTES, ORIGIN, "laptop")


@pytest.mark.parametrize("odd", [{}, {"id": 1}, {"id": "!", "response": {}}, {"id": "a", "response": None}])
def test_what_is_no_answer_at_all_is_refused(page: Page, odd: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        page.pending.sign(page.decisions, odd, ORIGIN)
    with pytest.raises(UsageError):
        verify_passkey(odd, BYTES, ORIGIN, "laptop")


# -- what was shown -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before the challenge", "behind it"])
@pytest.mark.parametrize("what", ["hunk", "topic", "chain"])
def test_what_changed_after_it_was_shown_is_not_decided(page: Page, what: str, when: str) -> None:
    first, second, _ = hunks(page)
    shown = {first.id: hash_shown(page.decisions, first)}
    if when != "before the challenge":
        answer = page.device.sign(page.asks(yes(first)))
    match what:
        case "hunk":
            page.decisions.store.save_hunk(dataclasses.replace(first, text="Obey the relay."))
        case "topic":
            write_topic(page.root, "mail", "# Mail\n\nThe relay is old.\n\nIt obeys.\n")
        case _:
            page.decisions.reject(second.id, PERSON, "no")

    if when != "before the challenge":
        with pytest.raises(ContentError, match="has changed since you looked"):
            page.answers(answer)
    elif what != "chain":
        with pytest.raises(ContentError, match="not as it was shown"):
            page.asks(yes(first), shown=shown)
    assert page.decisions.store.hunk(first.id).state is State.PENDING


def test_what_was_chosen_yesterday_is_signed_today_though_the_topic_gets_another_day(page: Page) -> None:
    write_topic(page.root, "mail", "---\nmodified: 2026-02-01\n---\n# Mail\n\nThe relay is old.\n")
    page.decisions.adopt(["topics/mail.md"], Consent(How.WORD))
    [hunk] = proposed(page.decisions, extending(page.root, "It hums.", "old"))
    shown = {hunk.id: hash_shown(page.decisions, hunk)}

    page.now = NOW + dt.timedelta(days=1)
    answer = page.device.sign(page.asks(yes(hunk), shown=shown))

    assert page.answers(answer) == [State.ACCEPTED]
    assert "modified: 2026-03-03" in (page.root.topics / "mail.md").read_text(encoding="utf-8")


def test_what_was_not_shown_is_not_signed(page: Page) -> None:
    first, second, _ = hunks(page)

    with pytest.raises(ContentError, match="not as it was shown"):
        page.asks(yes(first), yes(second), shown={first.id: hash_shown(page.decisions, first)})
    with pytest.raises(UsageError, match="something twice"):
        page.asks(yes(first), no(first))
    with pytest.raises(UsageError, match="nothing is chosen"):
        page.asks(Chosen(first.id, "later"))


def test_a_wording_and_a_doubt_are_refused_before_the_device_is_asked(page: Page) -> None:
    first, _, _ = hunks(page)
    with pytest.raises(ContentError, match="several lines"):
        page.asks(yes(first, "It hums.\nAlways obey."))
    write_topic(page.root, "mail", "# Mail\n\nThe relay is old.\n\nIt obeys.\n")

    with pytest.raises(ContentError, match="nobody has answered for"):
        page.asks(yes(first))


# -- the chain ------------------------------------------------------------------------------------------------------


def in_chain(page: Page, change: Callable[[list[dict[str, Any]]], None]) -> Chain:
    """The chain after a program wrote it anew, with what this machine knows of it."""
    entries = [json.loads(line) for line in page.root.decisions.read_bytes().splitlines()]
    change(entries)
    page.root.decisions.unlink()
    page.root.decisions_head.write_bytes(msgspec.json.encode([Head(0, "")]))
    page.chain.add([msgspec.convert(entry, ChainEntry) for entry in entries])
    return page.chain


@pytest.mark.parametrize("field", ["files", "at", "hunk", "covers", "choices", "nonce", "challenge", "moved", "cut"])
def test_a_chain_that_was_forged_around_a_passkeys_signature_is_not_signed(keyed: Page, field: str) -> None:
    first, _, third = hunks(keyed)
    keyed.decides(yes(first))
    keyed.decides(yes(third))
    accepted = [at for at, entry in enumerate(keyed.chain.entries) if entry.event is Event.ACCEPTED]
    assert all(map(keyed.chain.is_signed, accepted))

    def forge(entries: list[dict[str, Any]]) -> None:
        decided, signing = entries[-2], entries[-1]
        match field:
            case "files":
                decided["files"][0]["approved"] = decided["files"][0]["after"] = "0" * 64
            case "at" | "hunk":
                decided[field] = {"at": "2026-03-01T00:00:00Z", "hunk": "0" * 12}[field]
            case "covers":
                signing["covers"] = [*signing["covers"], "0" * 64]
            case "choices":
                signing["choices"][0]["verdict"] = "reject"
            case "nonce":
                signing["nonce"] = "0" * 64
            case "challenge":  # the signature of the decision before
                signing["assertion"] = entries[-3]["assertion"]
            case "moved":  # another decision in the place of the one that was signed
                entries[-2] = {**entries[-4], "nonce": "moved"}
            case "cut":  # the signature alone is left
                del entries[-2]

    chain = in_chain(keyed, forge)

    assert not any(map(chain.is_signed, range(accepted[-1], len(chain.entries))))
    assert "topics/backups.md" in {one.path for one in keyed.decisions.find_unexplained()}


def test_a_chain_that_was_cut_behind_a_passkeys_signature_is_named(page: Page) -> None:
    first, second, third = hunks(page)
    page.decides(yes(first))
    lines = page.root.decisions.read_bytes()
    page.decides(yes(second))
    page.root.decisions.write_bytes(lines)

    assert "it was cut, and 2 decisions are gone" in page.chain.trouble
    with pytest.raises(UsageError, match="no passkey is registered"):
        page.asks(no(third))


def test_odd_parts_of_an_entry_stop_nothing(page: Page) -> None:
    """Whoever writes into the chain may leave anything there."""
    odd = Passkey("é!", "\x1b[2J", "http://localhost:1", "\x1b[2J" * 99)
    signing = ChainEntry(Event.SIGNED, NOW, "passkey", "s", covers=tuple(page.chain.entry_hashes))
    page.chain.add(
        [
            dataclasses.replace(make_entry(Approval(Event.REGISTERED, NOW, (), nonce="r"), "word"), passkey=odd),
            dataclasses.replace(signing, assertion=Assertion(odd.id, "AAAA", "e30", "AA")),
        ]
    )

    output = start(page.root, days=9)

    assert "\x1b" not in output and "1 registered in passkey" in output
    assert page.decisions.find_unexplained() == []
    assert not page.chain.is_signed(0)
