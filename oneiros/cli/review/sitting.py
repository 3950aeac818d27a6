"""The review on a terminal: one hunk at a time, as in `git add -p`.

Nothing is decided before a person has typed the word that is shown to them; see `dream/decisions/presence.py`.
"""

import os
import shlex
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from crawler.archive.store import Archive
from crawler.compress.levels import show_turn
from dream.decisions.accept import Decisions
from dream.decisions.approvals import Unexplained
from dream.decisions.page import Chosen
from dream.decisions.presence import Consent, How
from dream.proposals.placing import Manner
from dream.proposals.rendering import diff_steps, hunk_lines
from dream.records import Hunk, Relation
from memory_server.errors import ContentError, OneirosError, UsageError
from memory_server.escaping import shown, shown_line
from memory_server.machine.files import replace_file
from oneiros.cli.review.batch import batch_text, read_batch
from oneiros.cli.terminal.output import data, talk
from oneiros.environment import now

KEYS = "y,n,e,s,o,a,f,q,?"
HELP = """\
y - accept this hunk
n - reject it, with a reason; its like comes back with new evidence only
e - edit the statement, then accept it
s - skip: decide later
o - open the source: what was said around the quote
a - accept this hunk and the rest of this topic
f - accept this hunk and the rest of the file that it was written in
q - quit
"""
OLD_DECISION = (
    "An old decision was gone against.",
    "Does the new word hold [y], or the old decision [n]; later [s]? ",
    "the old decision stands",
)
OLDER_WORDS = (
    "Older words say otherwise.",
    "Do the older words hold [y], or what came after them [n]; later [s]? ",
    "what came later stands",
)
AROUND = 2  # turns shown before and after the quoted one
REASON_CHARS = 500
END = "\x04"  # what is typed to end the input


class TerminalReview:
    """One sitting. Reads answers from standard input, which must be a terminal."""

    def __init__(
        self, decisions: Decisions, archive: Archive, person_asked: Callable[[], Consent], variables: Mapping[str, str]
    ):
        self._decisions = decisions
        self._archive = archive
        self._person_asked = person_asked
        self._variables = variables
        self._consent: Consent | None = None
        self._manner: How | None = None  # of consent, where it is not only the word
        self._whole_topic = self._whole_file = ""  # of which all hunks are accepted without asking
        self._has_quit = False
        self.accepted = self.rejected = self.skipped = 0

    def run(self, hunks: Sequence[Hunk]) -> None:
        """Goes through the hunks until the end or until the person quits."""
        left = list(hunks)
        with self._decisions.together(level_at_once=True):
            while left:
                self._show(left[0], f"[{len(hunks) - len(left) + 1}/{len(hunks)}]")
                if not self._decide(left[0]):
                    self.skipped += len(left)
                    self._has_quit = True
                    break
                left = self._without_whole(left[1:])

    def _without_whole(self, hunks: Sequence[Hunk]) -> list[Hunk]:
        """Accepts those of a topic or file that is taken as a whole; those that are left to be asked about."""
        whole = [hunk for hunk in hunks if self._whole_topic == hunk.target or self._whole_file == hunk.file != ""]
        if whole:
            with self._decisions.together():
                for hunk in whole:
                    self._accept(hunk)
        self._whole_topic = self._whole_file = ""
        return [hunk for hunk in hunks if hunk not in whole]

    def run_in_editor(self, hunks: Sequence[Hunk]) -> None:
        """Lets the person edit all hunks as one file, then does what it says after the word was typed."""
        choices = read_batch(edited(batch_text(hunks), self._variables), hunks)
        counts = Counter("reworded" if choice.text else choice.verdict for choice in choices)
        if not counts or set(counts) == {"later"}:
            talk("Nothing was decided.")
            self.skipped += len(hunks)
            return
        data(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
        for text in filter(None, (choice.text for choice in choices)):
            data(f"  in your words: {shown(text)}")
        chosen = [Chosen(one.hunk.id, one.verdict, one.text, "deleted in the editor") for one in choices]
        self._carry_out(chosen, hunks)

    def run_on_page(self, choices: Sequence[Chosen]) -> None:
        """Shows what was chosen on the page, and does it after the person has agreed here."""
        hunks = [self._decisions.store.hunk(choice.hunk) for choice in choices]
        for number, (choice, hunk) in enumerate(zip(choices, hunks, strict=True), start=1):
            self._show(hunk, f"[{number}/{len(choices)}] {choice.verdict}")
            if choice.text is not None:
                data(f"  in your words: {shown(choice.text)}")
        if choices and self._ask(f"Decide these {len(choices)} as shown [y,n]? ") == "y":
            self._manner = How.PAGE
            self._carry_out(choices, hunks)
        else:
            talk("Nothing was decided.")
            self.skipped += len(choices)

    def _carry_out(self, choices: Sequence[Chosen], shown: Sequence[Hunk]) -> None:
        with self._decisions.together():
            for choice, hunk in zip(choices, shown, strict=True):
                if choice.verdict == "accept":
                    self._accept(hunk, choice.text)
                elif choice.verdict == "reject":
                    self._reject(hunk, choice.reason)
                else:
                    self.skipped += 1

    def ask_about_doubts(self, doubts: Sequence[Unexplained]) -> None:
        """Asks about changes of approved files that nobody has answered for."""
        for doubt in doubts:
            data(f"{shown_line(doubt.path)} is in a state that nobody has answered for ({doubt.what}).")
            answer = self._ask("Have you looked at it, and is it yours? Adopt it [y,n]? ")
            if answer == "y":
                try:
                    self._decisions.adopt([doubt.path], self._present())
                except OneirosError as error:
                    talk(str(error))

    def ask_about_flags(self, hunks: Sequence[Hunk]) -> None:
        """Asks about decisions of long ago that somebody went against without a reason, and about older words."""
        for number, hunk in enumerate(hunks):
            if self._has_quit:
                self.skipped += len(hunks) - number
                return
            is_earlier = hunk.update.relation is Relation.EARLIER
            head, question, stands = OLDER_WORDS if is_earlier else OLD_DECISION
            self._show(hunk, head)
            answer = self._ask(question)
            if answer == "y":
                self._accept(hunk)
            elif answer == "n":
                self._reject(hunk, stands)
            else:
                self._has_quit = answer in ("q", END)
                self.skipped += 1

    def _show(self, hunk: Hunk, count: str) -> None:
        data("")
        steps = diff_steps(self._decisions.root, [hunk], Manner(now().date()))
        before, after = (steps[0].before, steps[0].after) if steps else (None, None)
        head, *lines = hunk_lines(hunk, before, after)
        faults = [f"  ALTERED: {fault}; it cannot be accepted" for fault in self._decisions.faults_of(hunk)]
        data("\n".join([f"{count} {hunk.id}  {head}", *lines, *faults]))

    def _decide(self, hunk: Hunk) -> bool:
        """Asks until the hunk is decided or passed over; false where the person quits."""
        while True:
            answer = self._ask(f"Take this up [{KEYS}]? ")
            if answer in ("q", END):
                return False
            if answer == "s":
                self.skipped += 1
                return True
            if answer == "o":
                self._open(hunk)
            elif answer == "n":
                self._reject(hunk, self._typed("Why not? ")[:REASON_CHARS])
                return True
            elif answer == "e":
                if self._edit(hunk):
                    return True
            elif answer == "f" and not hunk.file:
                talk("It was said in a session; no file holds it.")
            elif answer in ("y", "a", "f"):
                self._whole_topic = hunk.target if answer == "a" else ""
                self._whole_file = hunk.file if answer == "f" else ""
                self._accept(hunk)
                return True
            else:
                data(HELP.rstrip())

    def _accept(self, hunk: Hunk, text: str | None = None) -> None:
        with self._refusal_told():
            decided = self._decisions.accept(hunk.id, self._present(), text=text, shown=hunk)
            self.accepted += 1
            commit = f", commit {decided.commit[:8]}" if decided.commit else ""
            talk(f"Taken up in {hunk.target}{commit}.")

    def _reject(self, hunk: Hunk, reason: str) -> None:
        with self._refusal_told():
            self._decisions.reject(hunk.id, self._present(), reason)
            self.rejected += 1
            talk("Rejected.")

    @contextmanager
    def _refusal_told(self) -> Iterator[None]:
        """A hunk that cannot be decided is left for later, and why is said."""
        try:
            yield
        except UsageError:
            raise  # nobody is there, or the wrong word: the sitting is over
        except OneirosError as error:
            talk(str(error))
            self.skipped += 1

    def _edit(self, hunk: Hunk) -> bool:
        """Accepts the hunk in other words; false where the person is to be asked about it again."""
        text = edited(hunk.text, self._variables).strip()
        is_same = text == hunk.text.strip()
        if not text or (is_same and self._ask("Nothing was changed. Accept it as it stands [y,n]? ") != "y"):
            talk("Nothing was decided about it." if is_same else "Nothing was written.")
            return False
        self._accept(hunk, None if is_same else text)
        return True

    def _open(self, hunk: Hunk) -> None:
        for given in hunk.update.candidate.given:
            data(f"{shown_line(given.place_in(''))}: {shown_line(given.text)}")
        for quote in hunk.quotes:
            try:
                turns = list(self._archive.turns(quote.session_id))
            except ContentError as error:
                talk(str(error))
                continue
            place = next((at for at, turn in enumerate(turns) if quote.entry in turn.entries), None)
            if place is None:
                talk(f"Session {quote.session_id} holds entry {quote.entry} no longer.")
                continue
            for turn in turns[max(0, place - AROUND) : place + AROUND + 1]:
                data(shown(show_turn(turn)))
                data("")

    def _present(self) -> Consent:
        """That a person is there, asked once a sitting."""
        if self._consent is None:
            found = self._person_asked()
            self._consent = Consent(self._manner) if self._manner and found.how is How.WORD else found
        return self._consent

    def _ask(self, question: str) -> str:
        """The first letter of an answer."""
        return self._typed(question).strip().casefold()[:1]

    @staticmethod
    def _typed(question: str) -> str:
        try:
            return input(question)
        except EOFError:
            return END


def edited(text: str, variables: Mapping[str, str]) -> str:
    """The text after the person's editor has had it."""
    editor = shlex.split(variables.get("VISUAL") or variables.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="oneiros-") as folder:
        file = Path(folder, "review.md")
        replace_file(file, text + "\n")
        try:
            subprocess.run([*editor, str(file)], check=True, env=dict(os.environ))
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"the editor failed ({error})", remedy="Set EDITOR to one that works") from error
        return file.read_text(encoding="utf-8")
