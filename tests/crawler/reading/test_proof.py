"""Whether the words of a session prove a statement. Each row is a sentence that is true of the check."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.quotes import Quote, SessionTurns, make_quote
from crawler.reading.proof import ObjectionKind, find_new_words, find_objections
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn

KINDS = {Role.PERSON: PartKind.PROMPT, Role.ASSISTANT: PartKind.TEXT, Role.TOOL: PartKind.RESULT}


def session_of(*spoken: tuple[Role, str]) -> SessionTurns:
    turns = (Turn(role, KINDS[role], text, (f"{at:08d}-0000",)) for at, (role, text) in enumerate(spoken))
    return SessionTurns("s", "", tuple(turns))


def quote_in(session: SessionTurns, at: int, text: str) -> Quote:
    first = session.turns[at].text.index(text)
    return make_quote(session, session.turns[at], first, first + len(text))


def kinds_against(statement: str, words: str, quote: str = "") -> set[ObjectionKind]:
    """What is objected to a statement that quotes a person's only turn, whole or in part."""
    session = session_of((Role.PERSON, words))
    return {found.kind for found in find_objections(statement, [quote_in(session, 0, quote or words)], session)}


SUPPORTED = {
    "a copy of an assertion passes": ("The mirror syncs at night.", "The mirror syncs at night."),
    "a request may be worded as a rule": ("Invoices are saved as PDF.", "please save invoices as PDF"),
    "a request may be worded with must": ("Invoices must be saved as PDF.", "save invoices as PDF"),
    "an asking order is an order": ("Releases are tagged with the date.", "can you tag releases with the date?"),
    "a number word equals its digits": ("The queue keeps five workers.", "the queue keeps 5 workers"),
    "a slip may be put right": ("The importer validates customer records.", "the importer validates cusotmer records"),
    "a lost apostrophe still negates": ("Fixtures do not touch the network.", "fixtures dont touch the network"),
    "a short form equals its long form": ("The config lives in the repository.", "the configuration lives in the repo"),
    "a condition that is kept passes": ("Merge only if the build passes.", "merge only if the build passes"),
    "a passive turns subject and object": ("The lexer is called by the parser.", "the parser calls the lexer"),
    "a fronted stretch keeps its meaning": ("On staging, mails go to Mailpit.", "mails go to Mailpit on staging"),
    "a reproach supports its negation": ("Bazel is not used any more.", "why are you still using bazel?"),
    "a doubt that is kept passes": ("The cache might be stale.", "the cache might be stale"),
    "a frame keeps a wish a wish": ("The user wants shorter summaries.", "I want shorter summaries"),
    "a past that is kept passes": ("The old importer was slow.", "the old importer was slow"),
    "a contrast that is kept passes": ("Dates are ISO, not American.", "dates are ISO, not American"),
    "a quote may be part of its sentence": ("The relay listens on port 2525.", "ok so the relay listens on port 2525"),
    "two words may make a name": ("The AuthGuard logs refusals.", "the auth guard logs refusals"),
    "a condition may be a rule": ("Commits are made only if the tests pass.", "commit only if the tests pass"),
    "one sentence is one statement, whatever its commas": (
        "Use uv, not pip, for the tools, the docs and the CI.",
        "ok so use uv, not pip, for the tools, the docs and the CI",
    ),
    "an idiom is no quantity": ("The staging cluster is not used any longer.", "the staging cluster is not used now"),
    "a third of the words may be new": ("Invoices of a customer are saved as PDF.", "save the invoices as PDF please"),
    "a number may be written out": ("Three retries are enough.", "3 retries are enough"),
    "a comma may stand for a reason": (
        "Containers keep their names, because the backup finds them by name.",
        "containers keep their names, the backup finds them by name",
    ),
    "a dash may join words": ("The read-only mode stays.", "keep the read only mode"),
}

REFUSED = {
    "another number is no evidence": ("value", "The relay listens on port 587.", "the relay listens on port 2525"),
    "another name is no evidence": ("value", "Alerts go to Priya.", "alerts go to Marta"),
    "a version must have been said": ("value", "The site needs Node 20.", "the site needs Node 18"),
    "a word may not be put for another": ("opposite", "Telemetry is sent hourly.", "telemetry is sent daily"),
    "a statement needs the words said": ("new words", "Every deploy waits for the designer.", "the build is red"),
    "a dropped negation is refused": ("negation", "Fixtures touch the network.", "fixtures don't touch the network"),
    "an added negation is refused": ("negation", "Drafts are not indexed.", "drafts are indexed"),
    "without negates": ("negation", "The tool ships with docs.", "the tool ships without docs"),
    "an opposite is refused": ("opposite", "Guests are forbidden to upload.", "guests are allowed to upload"),
    "a denying prefix is an opposite": ("opposite", "The order is unstable.", "the order is stable"),
    "a particle turns its verb": ("opposite", "The lamp is switched off.", "the lamp is switched on"),
    "a question is no fact": ("modality", "The cache is shared.", "is the cache shared?"),
    "a guess is no fact": ("modality", "The proxy strips cookies.", "maybe the proxy strips cookies"),
    "a wish is no fact": ("modality", "The export skips blanks.", "it would be nice if the export skips blanks"),
    "what is ordered is not done": ("tense", "The parser has been split.", "split the parser"),
    "an added condition is refused": ("new words", "Alerts go out if it rains.", "alerts go out"),
    "until limits": ("passing", "Merge into staging.", "until Friday merge into staging"),
    "all is stronger than nothing said": ("quantity", "All pages have a footer.", "pages have a footer"),
    "only may not be added": ("quantity", "Only uploads are retried.", "uploads are retried"),
    "was is not is": ("tense", "The importer is slow.", "the importer was slow"),
    "for now does not last": ("passing", "The tenant is fixed to acme.", "for now the tenant is fixed to acme"),
    "temporarily does not last": ("passing", "CORS allows localhost.", "temporarily CORS allows localhost"),
    "already may not be added": ("tense", "The index is already rebuilt.", "the index is rebuilt"),
    "subject and object keep their roles": ("order", "Core imports the plugin.", "the plugin imports core"),
    "from and to keep their roles": ("order", "Mails move from Exim to Postfix.", "mails move from Postfix to Exim"),
    "before is not after": ("opposite", "Seeding runs before the migration.", "seeding runs after the migration"),
    "a preference is not turned": ("order", "Speed matters more than size.", "size matters more than speed"),
    "paired values are not exchanged": (
        "order",
        "The API is on 9090 and the docs on 8080.",
        "the API is on 8080 and the docs on 9090",
    ),
    "a cause may not be added": (
        "new words",
        "The nightly build fails because the cache is cold.",
        "the nightly build fails. The cache is cold.",
    ),
    "a forbidding is no leave": (
        "opposite",
        "Guests are allowed to upload files.",
        "guests are forbidden to upload files",
    ),
    "what was is not what is": ("tense", "The importer is slow.", "the importer was slow"),
    "use is not avoid": ("opposite", "Avoid bazel for the builds.", "use bazel for the builds"),
    "a number keeps its unit": ("value", "The timeout is 30 minutes.", "the timeout is 30 seconds"),
    "a number keeps its thing": ("value", "The relay keeps 5 mails and 9 logs.", "the relay keeps 9 mails and 5 logs"),
    "what is wished for is not offered": (
        "modality",
        "The site has a dark mode.",
        "it'd be nice if the site has a dark mode",
    ),
    "instead of keeps its sides": ("order", "Use npm instead of pnpm.", "use pnpm instead of npm"),
    "a preference keeps its sides": ("order", "We prefer npm over pnpm.", "we prefer pnpm over npm"),
    "before keeps its sides": (
        "order",
        "Always run the deploy before the migration.",
        "always run the migration before the deploy",
    ),
    "after keeps its sides": ("order", "Run the tests after the linter.", "run the linter after the tests"),
    "before with a verb keeps its sides": (
        "order",
        "Rotate the keys before you restart the relay.",
        "restart the relay before you rotate the keys",
    ),
}


@pytest.mark.parametrize("name", SUPPORTED)
def test_supported(name: str) -> None:
    statement, said = SUPPORTED[name]

    assert kinds_against(statement, said) == set()


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    kind, statement, said = REFUSED[name]

    assert ObjectionKind(kind) in kinds_against(statement, said)


def test_an_objection_names_the_words_that_it_is_about() -> None:
    session = session_of((Role.PERSON, "the relay listens on port 2525"))

    found = find_objections("The relay listens on port 587.", [quote_in(session, 0, "port 2525")], session)

    assert ("587",) in [one.words for one in found if one.kind is ObjectionKind.VALUE]


def test_pasted_words_are_no_evidence() -> None:
    text = "the deploy fails:\n```\nport 587 is required by the relay\n```\nwhy?"

    assert kinds_against("Port 587 is required by the relay.", text, "port 587 is required by the relay") >= {"foreign"}


def test_words_in_quotation_marks_are_no_evidence() -> None:
    text = 'count the words: "the relay needs a port of its own"'

    kinds = kinds_against("The relay needs a port of its own.", text, "the relay needs a port of its own")

    assert kinds == {"foreign"}


def test_what_a_tool_returned_is_no_evidence() -> None:
    session = session_of((Role.TOOL, "The relay listens on port 587."))

    found = find_objections("The relay listens on port 587.", [quote_in(session, 0, "The relay listens")], session)

    assert {one.kind for one in found} >= {"foreign"}


@pytest.mark.parametrize(
    "taken_back",
    ["scratch that", "I was wrong about the day", "never mind, we stay with Mondays", "forget it. Mondays"],
)
def test_words_taken_back_in_the_next_turn_support_nothing(taken_back: str) -> None:
    session = session_of((Role.PERSON, "we deploy on Fridays"), (Role.ASSISTANT, "Noted."), (Role.PERSON, taken_back))

    found = find_objections("We deploy on Fridays.", [quote_in(session, 0, "we deploy on Fridays")], session)

    assert {one.kind for one in found} == {"retracted"}


def test_words_taken_back_in_the_same_sentence_support_nothing() -> None:
    text = "we deploy on Fridays, never mind"

    assert kinds_against("We deploy on Fridays.", text, "we deploy on Fridays") == {"retracted"}


@pytest.mark.parametrize("follows", ["commit this and push", "ok, go on", "where is the log of that run?"])
def test_words_followed_by_other_work_still_stand(follows: str) -> None:
    session = session_of((Role.PERSON, "we deploy on Fridays"), (Role.ASSISTANT, "Noted."), (Role.PERSON, follows))

    assert find_objections("We deploy on Fridays.", [quote_in(session, 0, "we deploy on Fridays")], session) == ()


def test_a_short_answer_is_read_with_its_question() -> None:
    session = session_of((Role.ASSISTANT, "How many versions should a file keep?"), (Role.PERSON, "10 versions"))
    quotes = [quote_in(session, 1, "10 versions")]

    assert find_objections("A file keeps 10 versions.", quotes, session) == ()
    assert find_objections("A file keeps 12 versions.", quotes, session) != ()


def test_the_option_that_an_answer_leaves_is_refused() -> None:
    text = "How do uploads go on?\n1. Uploads respect the cooldown\n2. Uploads create a version\n"
    session = session_of((Role.ASSISTANT, text), (Role.PERSON, "2"))
    quotes = [quote_in(session, 1, "2")]

    assert find_objections("Uploads create a version.", quotes, session) == ()
    assert "refused" in {found.kind for found in find_objections("Uploads respect the cooldown.", quotes, session)}


def test_what_the_assistant_said_is_held_against_its_own_words() -> None:
    session = session_of((Role.ASSISTANT, "The trailer is stored in the commit. Go on?"), (Role.PERSON, "yes"))
    quotes = [quote_in(session, 0, "The trailer is stored in the commit"), quote_in(session, 1, "yes")]

    assert find_objections("The trailer is stored in the commit.", quotes, session) == ()
    assert find_objections("The footer is kept in the index.", quotes, session) != ()


def test_several_quotes_count_together() -> None:
    session = session_of((Role.PERSON, "Backups go to Leeds. Logs go to York."))
    quotes = [quote_in(session, 0, "Backups go to Leeds"), quote_in(session, 0, "Logs go to York")]

    assert find_objections("Backups go to Leeds and logs go to York.", quotes, session) == ()
    assert find_objections("Backups go to Leeds and mails to Bristol.", quotes, session) != ()


def test_a_statement_that_tells_nothing_is_refused() -> None:
    assert kinds_against("It is so.", "the relay listens on port 2525") == {"new words"}


@given(st.text(max_size=60), st.text(alphabet="ab 1.,;:?`\"'>-\n", min_size=1, max_size=80))
def test_whatever_is_said_and_stated_gets_the_same_judgement_twice(statement: str, said: str) -> None:
    session = session_of((Role.PERSON, said))
    quotes = [quote_in(session, 0, said)]

    assert find_objections(statement, quotes, session) == find_objections(statement, quotes, session)


def test_a_sentence_as_it_stands_is_not_objected_to_for_its_words() -> None:
    text = "ok, for now we keep all of it, not only the logs, until Friday"

    assert kinds_against("For now we keep all of it, not only the logs, until Friday.", text) == set()


def test_the_words_that_nobody_said_are_named_for_the_reviewer() -> None:
    session = session_of((Role.PERSON, "please save the invoices as PDF"))

    found = find_new_words(
        "Invoices of a customer are saved as PDF.", [quote_in(session, 0, "save the invoices")], session
    )

    assert found == ["customer"]


def test_what_a_long_session_names_elsewhere_may_be_named() -> None:
    around = [(Role.PERSON, "let's work on the BillingExporter"), (Role.ASSISTANT, "Good.")] * 4
    session = session_of(*around, (Role.PERSON, "save the invoices as PDF"))
    quotes = [quote_in(session, 8, "save the invoices as PDF")]

    assert find_objections("The BillingExporter saves invoices as PDF.", quotes, session) == ()
    assert "value" in {one.kind for one in find_objections("The MailSorter saves invoices as PDF.", quotes, session)}


def test_every_kind_of_objection_is_met_by_a_row_or_a_test() -> None:
    assert {kind for kind, *_ in REFUSED.values()} | {"foreign", "refused", "retracted"} == set(ObjectionKind)
