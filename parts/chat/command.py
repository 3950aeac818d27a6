"""`chat`: talks with the memory in a terminal. The answer on stdout as it comes, all else on stderr."""

import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from typing import Annotated, Any

import typer

from memory_server.errors import ContentError, OneirosError, UsageError
from memory_server.escaping import escape_line, escape_text
from memory_server.root.places import require_memory
from memory_server.search.question import with_commands
from oneiros.cli.consent import require_person
from oneiros.cli.review.telling import remember, wrong
from oneiros.cli.searching import ask_memory
from oneiros.cli.terminal.output import AsJson, data, data_json, talk
from oneiros.environment import Environment
from parts.chat.chatting import build_back_end, build_chat, open_conversations
from parts.chat.citations import MARKS, Citation
from parts.chat.context import Context
from parts.chat.conversations import as_markdown, citation_line
from parts.chat.records import Usage
from parts.chat.turn import LEFT, UNKNOWN, Chat, Finished

NoDaemon = Annotated[bool, typer.Option("--no-daemon", help="open the memory here; start no daemon")]
HELP = (
    "/remember TEXT takes it up as yours, /wrong PLACE TEXT puts it in a line's place (both ask); an empty line ends."
)


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="\b\nExample: oneiros chat 'why do we pin the workers'")(chat)


def chat(
    context: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(help="a question; or the new title")] = None,
    load: Annotated[str, typer.Option(metavar="ID", help="go on with that conversation")] = "",
    listed: Annotated[bool, typer.Option("--list", help="list the conversations, newest first")] = False,
    rename: Annotated[str, typer.Option(metavar="ID", help="give it the title that follows")] = "",
    delete: Annotated[str, typer.Option(metavar="ID", help="remove it for good; asks you")] = "",
    export: Annotated[str, typer.Option(metavar="ID", help="print it as Markdown")] = "",
    anyway: Annotated[bool, typer.Option("--anyway", help="ask the model also where nothing was found")] = False,
    no_daemon: NoDaemon = False,
    as_json: AsJson = False,
) -> None:
    """Talk with the memory through a model; citations are looked up.

    Off until you name a back end: `oneiros config chat_backend claude-cli`.
    """
    environment: Environment = context.obj
    text = " ".join(words or ()).strip()
    root = require_memory(environment.choice.root)
    conversations = open_conversations(environment, root)
    if listed:
        found = [{"id": one.id, "title": one.title, "turns": len(one.turns)} for one in conversations.list()]
        if as_json:
            data_json({"conversations": found})
        for one in [] if as_json else found:
            data(f"{one['id']}  {one['turns']:>3}  {escape_line(str(one['title']))}")
    elif rename:
        data(f"{conversations.retitle(rename, text).id}  {escape_line(text)}")
    elif export:
        data(as_markdown(conversations.load(export)))
    elif delete:
        meant = conversations.load(delete)
        require_person(environment, f"delete the conversation {meant.id}, {escape_line(meant.title)!r}")
        conversations.delete(meant.id)
        talk("Deleted.")
    else:
        build_back_end(environment, root)  # says at once where none is set
        recall = partial(ask_memory, environment, no_daemon=no_daemon)
        talking = _Talking(context, build_chat(environment, root, recall), load and conversations.load(load).id, anyway)
        if text:
            talking.ask(text, as_json=as_json)
        elif as_json or not sys.stdin.isatty():
            raise UsageError("there is no question", remedy="Write it behind the command")
        else:
            talking.converse()


class _Talking:
    """One conversation at a terminal; `name` is empty until its first question is answered."""

    def __init__(self, context: typer.Context, chat: Chat, name: str, anyway: bool):
        self._command, self._chat, self._name, self._anyway = context, chat, name, anyway
        self._cited: list[Citation] = []  # of the last answer

    def converse(self) -> None:
        """Asks and answers until an empty line."""
        talk(HELP)
        with suppress(EOFError, KeyboardInterrupt):
            while line := input("> ").strip():
                try:
                    self._do(line)
                except (OneirosError, typer.Exit, typer.Abort) as error:
                    talk(str(error) if isinstance(error, OneirosError) else "")

    def _do(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        if command == "/remember":
            remember(self._command, rest)
        elif command == "/wrong":
            place, _, right = rest.partition(" ")
            number = int(place) if place.isdecimal() else 0
            wrong(self._command, self._cited[number - 1].place if 0 < number <= len(self._cited) else place, right)
        else:
            self.ask(line)

    def ask(self, question: str, *, as_json: bool = False) -> None:
        """Asks once and shows what comes. Raises ContentError where nothing is known and nobody says to go on."""
        conversations = self._chat.conversations
        found = self._chat.context(question, conversations.load(self._name) if self._name else None)
        talk(f"{len(found.passages)} passages, {found.tokens:,} of {found.max_tokens:,} tokens. {_how_sure(found)}")
        if found.is_empty and not self._anyway and not _confirm_anyway():
            raise ContentError(UNKNOWN.rstrip("."), remedy="--anyway asks the model all the same")
        self._name = self._name or conversations.begin(found.question)
        self._cited = []
        with closing(self._chat.answer(found, self._name)) as pieces:
            try:
                self._show(pieces, as_json)
            except KeyboardInterrupt:
                talk(f"\nNot whole: {LEFT}; what came is kept.")

    def _show(self, pieces: Iterator[Any], as_json: bool) -> None:
        text, end = "", None
        for piece in pieces:
            if isinstance(piece, Finished):
                end = piece
                continue
            if isinstance(piece, Citation):
                self._cited.append(piece)
                piece = piece.mark(len(self._cited))
            text += piece
            if not as_json:
                print(escape_text(piece), end="", flush=True)
        assert end is not None
        usage = end.usage
        if as_json:
            cited = [{name: getattr(one, name) for name in Citation.__slots__} for one in self._cited]
            costs = {"usd": end.usd, "cached_tokens": usage.cached_tokens if usage else 0, "ended": end.ended}
            data_json({"conversation": self._name, "answer": text, "citations": cited, **costs})
            return
        data("")
        for number, one in enumerate(self._cited, start=1):
            data(f"{MARKS[0]}{number}{MARKS[1]} {citation_line(one)}")
        if end.ended:
            talk(f"Not whole: {end.ended}.")
        talk(f"{_format_usage(usage)}{end.usd:.4f} dollars. Go on: oneiros chat --load {self._name}")


def _confirm_anyway() -> bool:
    return sys.stdin.isatty() and typer.confirm("Ask the model anyway?", default=False, err=True)


def _format_usage(usage: Usage | None) -> str:
    if usage is None:
        return ""
    written = usage.input_tokens + usage.cache_writes + usage.long_cache_writes
    return (
        f"{written + usage.cached_tokens:,} tokens in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out, "
    )


def _how_sure(found: Context) -> str:
    note = with_commands(found.note)
    if found.is_empty:
        return f"{UNKNOWN} {note}"
    return note if found.is_sure else f"The memory is not sure of them. {note}"
