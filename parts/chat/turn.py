"""One turn of a chat: what was found goes to a back end, its answer comes back checked, and is kept.

Money is reserved before and put right after. An answer that ends early, by the back end or because the reader left, is
kept and marked; one that never began raises, and the back end is named.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from crawler.model.budget import Budget
from memory_server.errors import OneirosError, UsageError
from parts.chat.citations import Citation, check_citations
from parts.chat.context import Context, Look, Recall, build_prompt, find_context
from parts.chat.conversations import ChatConversation, ChatTurn, Conversations
from parts.chat.records import LONG_CACHE_WRITE, BackEnd, BackEndFailed, Usage

MAX_OUTPUT_TOKENS = 2_000
INDEX_PAGE_CHARS = 8_000  # of the index page: what it points to, not what it says
LEFT = "you left"
UNKNOWN = "Your memory does not know."


@dataclass(frozen=True, slots=True)
class Finished:
    """How an answer ended, as its last piece."""

    usage: Usage | None  # None: the service did not say
    usd: float
    ended: str  # why it is not whole; empty where it is


@dataclass
class _Heard:
    """What has come of an answer so far."""

    text: str = ""
    citations: list[Citation] = field(default_factory=list)
    usage: Usage | None = None

    @property
    def has_begun(self) -> bool:
        return bool(self.text or self.citations)


class Chat:
    """Turns of conversations with one memory. `look` gives a reader that is used for one turn."""

    def __init__(
        self,
        conversations: Conversations,
        *,
        recall: Recall,
        look: Callable[[], Look],
        index_page: Callable[[], str],
        back_end: Callable[[], BackEnd],
        budget: Callable[[], Budget],
        max_tokens: int,
    ):
        self.conversations = conversations
        self._recall, self._look, self._index_page = recall, look, index_page
        self._back_end, self._budget, self._max_tokens = back_end, budget, max_tokens

    def trouble(self) -> str:
        """Why no model can be asked, and what to do about it; empty where one can."""
        try:
            self._back_end()
        except OneirosError as error:
            return str(error)
        return ""

    def context(self, question: str, conversation: ChatConversation | None) -> Context:
        """What the memory knows of a question; asks no model. Secrets in the question are masked from here on."""
        history = conversation.history if conversation else ()
        masked = self.conversations.mask(question)
        return find_context(masked, history, self._recall, self._look(), max_tokens=self._max_tokens)

    def answer(self, context: Context, name: str) -> Generator[str | Citation | Finished, None, None]:
        """The answer, piece by piece, kept in the conversation `name` however it ends; closing it ends the request.

        Raises UsageError where no back end is set or the budget is spent, BackEndFailed where no answer began.
        """
        back_end, budget = self._back_end(), self._budget()
        history = self.conversations.load(name).history
        index_page = self._index_page()[:INDEX_PAGE_CHARS]
        prompt = build_prompt(
            context, history, index_page=index_page, cites=back_end.cites, max_output_tokens=MAX_OUTPUT_TOKENS
        )
        estimate = LONG_CACHE_WRITE * back_end.price.estimate(prompt.chars, prompt.max_output_tokens)
        if budget.refusal(estimate):
            remedy = "Raise budget_run_usd or budget_day_usd, or ask tomorrow"
            raise UsageError(f"the budget does not allow another {estimate:.4f} dollars", remedy=remedy)
        budget.spend(estimate)
        heard, ended, usd = _Heard(), LEFT, estimate
        pieces = back_end.stream(prompt)
        try:
            for piece in check_citations(pieces, context.passages, self._look()):
                if isinstance(piece, Usage):
                    heard.usage = piece
                elif isinstance(piece, Citation):
                    heard.citations.append(piece)
                    heard.text += piece.mark(len(heard.citations))
                    yield piece
                else:
                    heard.text += piece
                    yield piece
            ended = "" if heard.has_begun else f"{back_end.name} answered nothing"
        except BackEndFailed as error:
            ended = error.what
            if not heard.has_begun:
                usd = 0.0  # a request that was refused costs nothing
                raise
        finally:
            pieces.close()  # type: ignore[attr-defined]  # of a generator
            usd = heard.usage.usd(back_end.price) if heard.usage else usd
            budget.spend(usd - estimate)
            at, cited = self.conversations.now().isoformat(timespec="seconds"), tuple(heard.citations)
            turn = ChatTurn(at, context.question, heard.text, cited, back_end.name, round(usd, 6), ended)
            self.conversations.add(name, turn)
        yield Finished(heard.usage, usd, ended)
