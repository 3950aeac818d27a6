"""The review on a terminal: one hunk at a time, with the keys of the review on the page.

What a person chooses is kept until the end of the sitting, where they decide it with the word that is shown to them;
see `dream/decisions/presence.py`. Until then a choice can be taken back, and nothing is written.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import typer

from crawler.archive.store import Archive
from dream.decisions.accept import Decisions
from dream.decisions.approvals import Unexplained, read_file
from dream.decisions.page import Chosen, ChosenSoFar
from dream.decisions.presence import Consent, How, NotTheWord
from dream.judge.filing import list_names
from dream.proposals.placing import Manner
from dream.proposals.rendering import (
    HEADS,
    STANDS,
    describe_source,
    diff_steps,
    hunk_lines,
    read_context,
    rest_of_topic,
    warnings_about,
)
from dream.records import Hunk, State
from dream.topics import read_topics
from memory_server.chunking import split_lines
from memory_server.errors import OneirosError
from memory_server.escaping import escape_line, escape_text, plural
from memory_server.machine.clock import local_day
from oneiros.cli.review.asking import END, ask_key, ask_place, ask_words
from oneiros.cli.review.editing import batch_text, edit_text, read_batch, reword_text, with_faults
from oneiros.cli.terminal.output import data, see_stdout, show, talk
from oneiros.environment import now

KEYS = {
    "a": "accept it",
    "e": "edit the statement, then accept it",
    "r": "reject it, with a reason; its like comes back with new evidence only",
    "l": "later: it stays open",
    "t": "put it in another topic or section",
    "u": "take back what you chose last",
    "f": "accept this and the rest of this topic, but for what replaces a line",
    "o": "show what was said: the prompt before, the prompt, the end of the reply",
    "q": "quit: what you chose until here is decided, the rest stays open",
}
ENDING = {
    "y": "decide what you chose; Enter does the same",
    "u": "take back what you chose last, and go on from there",
    "n": "decide nothing: everything stays open",
}
AS_SHOWN = {"y": "decide them as they are shown", "n": "decide nothing: everything stays open"}
AS_IT_STANDS = {"y": "accept the statement as it stands", "n": "look at it again"}
ASKING_AGAIN = {"y": "another word is shown", "n": "decide nothing: everything stays open"}
ADOPTING = {"y": "you have looked at it, and it is yours", "n": "leave it; it is named again"}
WHY = "A reason in your own words; Enter takes what stands in brackets, if anything does."
REASON_CHARS = 500


class TerminalReview:
    """One sitting. Reads answers from standard input, which must be a terminal."""

    def __init__(
        self, decisions: Decisions, archive: Archive, ask_person: Callable[[], Consent], variables: Mapping[str, str]
    ):
        self._decisions = decisions
        self._archive = archive
        self._ask_person = ask_person
        self._variables = variables
        self._consent: Consent | None = None
        self._choices = ChosenSoFar()
        self._shown: Hunk | None = None  # what stands on the screen
        self.accepted = self.rejected = self.skipped = 0

    def run(self, hunks: Sequence[Hunk]) -> None:
        """Goes through the hunks until the end or until the person quits, then decides what they chose."""
        remaining, key = list(hunks), "u"
        while key == "u":
            while self._ask_next(remaining):
                pass
            key = self._settle(remaining)

    def run_in_editor(self, hunks: Sequence[Hunk]) -> None:
        """Lets the person edit all hunks as one file, then does what it says after the word was typed.

        A wording that cannot be taken opens the file again; where it is left so, its hunk stays open.
        """
        offered, written, wrong = "", batch_text(hunks), dict[str, str]()
        while not offered or (wrong and written.strip() != offered.strip()):
            offered = with_faults(written, wrong)
            written = edit_text(offered, self._variables)
            choices = read_batch(written, hunks)
            wrong = {choice.hunk: fault for choice in choices if (fault := self._find_fault(choice))}
        for name, fault in wrong.items():
            talk(f"{name}: {fault}")
        self._choices.choose(*(choice for choice in choices if choice.hunk not in wrong))
        counts = Counter("reworded" if one.text else one.verdict for one in self._choices.by_hunk.values())
        if counts:
            data(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
        for text in filter(None, (choice.text for choice in choices)):
            data(f"  in your words: {escape_text(text)}")
        self._decide(hunks)

    def run_on_page(self, choices: Sequence[Chosen]) -> None:
        """Shows what was chosen on the page, and does it after the person has agreed here."""
        hunks = [self._decisions.store.hunk(choice.hunk) for choice in choices]
        for number, (choice, hunk) in enumerate(zip(choices, hunks, strict=True), start=1):
            self._show(hunk, f"[{number}/{len(choices)}] {choice.verdict}")
            if choice.text is not None:
                data(f"  in your words: {escape_text(choice.text)}")
        if choices and ask_key(f"Decide these {len(choices)} as shown", AS_SHOWN) == "y":
            self._choices.choose(*choices)
            self._decide(hunks, How.PAGE)
        else:
            talk("Nothing was decided.")
            self.skipped += len(choices)

    def ask_about_doubts(self, doubts: Sequence[Unexplained]) -> None:
        """Asks about changes of approved files that nobody has answered for."""
        for doubt in doubts:
            data(f"{escape_line(doubt.path)} is in a state that nobody has answered for ({doubt.what}).")
            self._show_head(doubt)
            if ask_key("Have you looked at it, and is it yours? Adopt it", ADOPTING) == "y":
                try:
                    self._decisions.adopt([doubt.path], self._present())
                except OneirosError as error:
                    talk(str(error))

    def _show_head(self, doubt: Unexplained) -> None:
        """What the head of a retitled topic said when it was approved, and what it says."""
        lines = split_lines(read_file(self._decisions.root, doubt.path) or "")
        for old, new in zip(split_lines(doubt.approved), lines, strict=False):
            if old != new:
                data(f"  - {escape_line(old.rstrip())}")
                data(f"  + {escape_line(new.rstrip())}")

    # -- one hunk ---------------------------------------------------------------------------------------------------

    def _ask_next(self, hunks: list[Hunk]) -> bool:
        """Asks about the first hunk that nothing was chosen for; false where there is none, or the person quits."""
        place = next((at for at, hunk in enumerate(hunks) if hunk.id not in self._choices), None)
        if place is None:
            return False
        hunk = hunks[place]
        if hunk != self._shown:
            self._show(hunk, f"[{place + 1}/{len(hunks)}]")
            self._shown = hunk
        match ask_key("Take this up", KEYS):
            case "a":
                self._choices.choose(Chosen(hunk.id, "accept"))
            case "e":
                self._edit(hunk)
            case "r":
                self._reject(hunk)
            case "l":
                self._choices.choose(Chosen(hunk.id, "later"))
            case "t":
                hunks[place] = self._refile_hunk(hunk)
            case "u":
                if not self._choices.take_back():
                    talk("You have chosen nothing yet.")
            case "f":
                self._accept_rest(hunk, hunks)
            case "o":
                self._show_around(hunk)
            case _:
                return False
        return True

    def _show(self, hunk: Hunk, count: str) -> None:
        data("")
        steps = diff_steps(self._decisions.root, [hunk], Manner(local_day(now())))
        head, *lines = hunk_lines(hunk, steps)
        question = HEADS.get(hunk.update.relation)
        faults = [f"  ALTERED: {fault}; it cannot be accepted" for fault in self._decisions.find_faults(hunk)]
        screen = see_stdout()
        show(screen.style(f"{count} {head}", bold=True))
        show(screen.colour_diff("\n".join([*([question] if question else []), *lines, *faults])))

    def _edit(self, hunk: Hunk) -> None:
        """Accepts the hunk in other words, or leaves it to be asked about again."""
        try:
            found = reword_text(hunk.text, self._decisions.check_wording, self._variables)
        except OneirosError as error:  # of the editor
            talk(str(error))
            return
        text = found[1] if found else ""
        is_same = text == hunk.text.strip()
        if not text or (is_same and ask_key("Nothing was changed. Accept it as it stands", AS_IT_STANDS) != "y"):
            talk("Nothing was chosen for it.")
            return
        if not is_same:
            show(f"  in your words: {escape_text(text)}")
        self._choices.choose(Chosen(hunk.id, "accept", None if is_same else text))

    def _reject(self, hunk: Hunk) -> None:
        stands = STANDS.get(hunk.update.relation, "")
        reason = ask_words(f"Why not?{f' [{stands}]' * bool(stands)} ", WHY, default=stands)
        if reason != END:
            self._choices.choose(Chosen(hunk.id, "reject", reason=reason[:REASON_CHARS]))

    def _refile_hunk(self, hunk: Hunk) -> Hunk:
        """The hunk where the person wants it, proposed so; the hunk as it is, where it cannot go there."""
        place, project = hunk.update.place, hunk.update.candidate.project
        known = list_names(project, read_topics(self._decisions.root))
        try:
            wanted = ask_place(known, place.target, place.section, is_new_section=True)
        except typer.Abort:
            return hunk
        if wanted is None:
            return hunk
        try:
            return self._decisions.refile(hunk.id, *wanted)
        except OneirosError as error:
            talk(str(error))
            return hunk

    def _accept_rest(self, hunk: Hunk, hunks: Sequence[Hunk]) -> None:
        """Accepts the hunk and what else waits for its topic; a replacement is shown by itself."""
        others = rest_of_topic(hunk, (one for one in hunks if one.id not in self._choices))
        for one in others:
            show("\n    CAREFUL: ".join([f"  + {escape_line(one.text)}", *warnings_about(one)]))
        self._choices.choose(*(Chosen(one.id, "accept") for one in (hunk, *others)))

    def _show_around(self, hunk: Hunk) -> None:
        project = hunk.update.candidate.project
        for given in hunk.update.candidate.given:
            show(f"{describe_source(given, project)}: {escape_line(given.text)}")
        for quote in hunk.quotes:
            data(f"{describe_source(quote, project)}, session {quote.session_id[:8]}:")
            try:
                for heard in read_context(self._archive, quote):
                    show("\n".join(f"  {heard.role}: {line}" for line in escape_text(heard.text).split("\n")))
            except OneirosError as error:
                talk(str(error))

    # -- the end ----------------------------------------------------------------------------------------------------

    def _settle(self, hunks: Sequence[Hunk]) -> str:
        """Asks whether what was chosen is to be decided, and decides it; the key that was typed."""
        counts = Counter(choice.verdict for choice in self._choices.by_hunk.values())
        key = "n"
        if counts["accept"] + counts["reject"]:
            counted = ", ".join(f"{verdict} {count}" for verdict, count in counts.items())
            key = ask_key(f"Decide this: {counted}", ENDING, default="y")
        if key == "u":
            self._choices.take_back()
        elif key == "y":
            self._decide(hunks)
        else:
            self.skipped += len(hunks)
        return key

    def _decide(self, hunks: Sequence[Hunk], how: How | None = None) -> None:
        """Decides what was chosen, once the person has shown that they are there."""
        choices = self._choices.by_hunk
        chosen = [(choices[hunk.id], hunk) for hunk in hunks if hunk.id in choices]
        wanted = [(choice, hunk) for choice, hunk in chosen if choice.verdict != "later"]
        decided = self._decisions.decide(wanted, self._present(how), self._tell_refusal) if wanted else []
        taken = Counter((one.hunk.target, one.commit) for one in decided if one.hunk.state is State.ACCEPTED)
        for (target, commit), count in taken.items():
            talk(f"{plural(count, 'statement')} taken up in {target}{self._decisions.commit_in_words(commit)}.")
        accepted = [one.hunk.id[:8] for one in decided if one.hunk.state is State.ACCEPTED]
        if accepted:
            talk("\n".join(["Undo it:", *(f"  oneiros dream revert {name}" for name in accepted)]))
        self.accepted += taken.total()
        self.rejected += len(decided) - taken.total()
        self.skipped += len(hunks) - len(decided)
        if not wanted:
            talk("Nothing was decided.")

    def _tell_refusal(self, hunk: Hunk, error: OneirosError) -> None:
        talk(f"Left for later: {escape_line(hunk.text)}\n  {error}")

    def _find_fault(self, choice: Chosen) -> str:
        """What is wrong with the wording of a choice; empty where nothing is."""
        try:
            self._decisions.check_wording(choice.text or "-")
        except OneirosError as error:
            return " ".join(str(error).split())
        return ""

    def _present(self, how: How | None = None) -> Consent:
        """That a person is there, asked once a sitting. `how`: of consent, where it is not only the word."""
        while self._consent is None:
            try:
                self._consent = self._ask_person()
            except NotTheWord:
                if ask_key("That was not the word; what you chose is kept. Be asked again", ASKING_AGAIN) != "y":
                    raise
        return Consent(how) if how and self._consent.how is How.WORD else self._consent
