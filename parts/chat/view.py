"""The chat: a question, what the memory knows of it, and the answer as it comes.

An answer is a stream of lines of JSON: `text` is added to what stands there, `html` takes its place and was rendered
here like every other fragment. What decides (to take a sentence up, to delete) is shown as the command for a terminal.
"""

import json
import re
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse, StreamingResponse
from markupsafe import Markup
from pydantic import Field
from starlette.background import BackgroundTask

from memory_server.errors import OneirosError
from memory_server.escaping import escape_line, escape_text
from memory_server.faces.body import Body
from oneiros.served import ServedMemory
from parts.chat.chatting import build_chat
from parts.chat.citations import MARKS
from parts.chat.conversations import ID, ChatConversation, ChatTurn
from parts.chat.turn import UNKNOWN, Chat, Finished
from parts.page.markdown import render_text
from parts.page.rendering import GUARDED, Renderer, make_citation_address

CITED = re.compile(rf"{MARKS[0]}(\d{{1,3}})(?: NOT VERIFIED)?{MARKS[1]}")  # as `Citation.mark` writes it
Name = Annotated[str, Path(pattern=f"^{ID.pattern}$")]


class ChatQuestion(Body):
    """A question, and the conversation that it goes on with."""

    question: str = Field(min_length=1, max_length=10_000)
    name: str = Field("", pattern=f"^({ID.pattern})?$")
    anyway: bool = False  # also where nothing was found


class ChatTitle(Body):
    """What a conversation is to be called."""

    title: str = Field(min_length=1, max_length=500)


def chat_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """Conversations, and what is asked in them."""
    routes = APIRouter()

    def view(chat: Chat, talk: ChatConversation | None) -> HTMLResponse:
        talks = () if talk else chat.conversations.list()
        return render("chat.html", talk=talk, talks=talks, trouble=chat.trouble(), render_answer=render_answer)

    @routes.get("/chat")
    def chats() -> HTMLResponse:
        return view(open_chat(served), None)

    @routes.get("/chat/{name}")
    def one(name: Name) -> HTMLResponse:
        chat = open_chat(served)
        return view(chat, chat.conversations.load(name))

    @routes.post("/chat/{name}/title")
    def rename(name: Name, wanted: ChatTitle) -> HTMLResponse:
        chat = open_chat(served)
        return view(chat, chat.conversations.retitle(name, wanted.title))

    @routes.post("/chat")
    def ask(wanted: ChatQuestion) -> StreamingResponse:
        pieces = _answer(served, render, wanted)
        lines = (json.dumps(line) + "\n" for line in pieces)
        leave = BackgroundTask(pieces.close)  # runs, too, where the reader has left, and ends the model's request
        return StreamingResponse(lines, media_type="application/x-ndjson", headers=GUARDED, background=leave)

    return routes


def open_chat(served: ServedMemory) -> Chat:
    """The chat with the person's present settings."""
    return build_chat(replace(served.running.environment), served.memory.root, served.memory.search)


def _answer(served: ServedMemory, render: Renderer, wanted: ChatQuestion) -> Generator[dict[str, str], None, None]:
    """What was found, the text of an answer as it comes, and at the end the whole turn with its citations."""
    chat = open_chat(served)
    conversations, name = chat.conversations, wanted.name
    try:
        found = chat.context(wanted.question, conversations.load(name) if name else None)
        yield {"html": _html(render, "chat_context.html", found=found, unknown=UNKNOWN, wanted=wanted)}
        if found.is_empty and not wanted.anyway:
            return
        name = name or conversations.begin(found.question)
        number = 0
        with closing(chat.answer(found, name)) as pieces:
            for piece in pieces:
                if isinstance(piece, str):
                    yield {"text": escape_text(piece)}
                elif not isinstance(piece, Finished):
                    number += 1
                    yield {"text": f"[{number}{'' if piece.verified else '?'}]"}
                else:
                    turn = conversations.load(name).turns[-1]
                    yield {"html": _turn_html(render, turn, piece), "name": name}
    except OneirosError as error:
        turn = ChatTurn("", wanted.question, ended=str(error))
        yield {"html": _turn_html(render, turn, None), "name": name}


def render_answer(turn: ChatTurn) -> Markup:
    """An answer as HTML; a citation is a chip with its number, which opens the line where its words stand."""

    def make_chip(match: re.Match[str]) -> str:
        number = int(match[1])
        one = turn.citations[number - 1] if 0 < number <= len(turn.citations) else None
        if one is None:
            return f"[{number}]"
        if not one.verified:
            return Markup('<b class="cite bad" title="not verified: {}">{}?</b>').format(escape_line(one.words), number)
        href, title = make_citation_address(one.path, one.first), f"{one.place}: {escape_line(one.words)}"
        return Markup('<a class="cite" href="{}" title="{}">{}</a>').format(href, title, number)

    return Markup(CITED.sub(make_chip, render_text(turn.answer)))  # noqa: S704  cleaned, and chips of escaped parts


def _turn_html(render: Renderer, turn: ChatTurn, end: Finished | None) -> str:
    return _html(render, "chat_turn.html", turn=turn, end=end, render_answer=render_answer)


def _html(render: Renderer, template: str, **values: object) -> str:
    return bytes(render(template, **values).body).decode()
