"""`extract` and `generate` on real files and against servers that speak the services' own protocols."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anthropic
import docx
import pytest

from trainer.errors import DataError, NeedsRepair, UsageError
from trainer.extract.chunks import Chunk
from trainer.extract.stage import extract, read_chunks
from trainer.generate.anthropic_batches import AnthropicBatches
from trainer.generate.budget import Price, check_budget, estimate
from trainer.generate.chat import OllamaGenerator, OpenAiGenerator
from trainer.generate.rules import RuleGenerator
from trainer.generate.stage import generate
from trainer.http_json import post_json
from trainer.pairs import SYSTEM, read_pairs

pytestmark = pytest.mark.trainer

FACT = "The relay listens on port 2525 of the mail host."
REPLY = json.dumps([{"question": "Where does the relay listen?", "answer": "The relay listens on port 2525."}])


def write_pdf(path: Path, *pages: str) -> None:
    """A PDF written by hand: a catalogue, a font, and a page with one line of text for each of `pages`."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        content = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        page = "/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< {page} /Contents {len(objects)} 0 R >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    body += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n".encode()
    path.write_bytes(body + f"startxref\n{body.rindex(b'xref')}\n%%EOF\n".encode())


def test_pdf_word_markdown_and_text_become_chunks_with_source_and_page(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_pdf(folder / "a.pdf", "Mail is on port 25 of this host.", "Web is on port 80 of this host.")
    word = docx.Document()
    word.add_heading("Ports", level=2)
    word.add_paragraph("Ssh is on port 22.")
    word.save(str(folder / "b.docx"))
    (folder / "c.md").write_text("# Names\n\nThe host is called garnet.", encoding="utf-8")
    (folder / "d.txt").write_text("Plain text.", encoding="utf-8")

    extract([folder], tmp_path / "chunks.jsonl")

    chunks = read_chunks(tmp_path / "chunks.jsonl")
    assert [(Path(chunk.source).name, chunk.page, chunk.heading, chunk.text) for chunk in chunks] == [
        ("a.pdf", 1, "", "Mail is on port 25 of this host."),
        ("a.pdf", 2, "", "Web is on port 80 of this host."),
        ("b.docx", 0, "Ports", "## Ports\n\nSsh is on port 22."),
        ("c.md", 0, "Names", "# Names\n\nThe host is called garnet."),
        ("d.txt", 0, "", "Plain text."),
    ]


def test_scans_secrets_and_broken_files_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    write_pdf(tmp_path / "scan.pdf", "", "Web is on port 80 of this host.")
    (tmp_path / "broken.pdf").write_bytes(b"not a PDF")
    (tmp_path / "broken.docx").write_bytes(b"not a zip")
    (tmp_path / "secret.md").write_text("The key is sk-abcdefghij0123456789.", encoding="utf-8")
    (tmp_path / "latin.txt").write_bytes("größe".encode("latin-1"))

    done = extract([tmp_path], tmp_path / "out" / "chunks.jsonl")

    assert done.chunks == 1
    text = "\n".join(done.problems)
    for part in ("broken.pdf: this PDF cannot be read", "broken.docx: this is not a Word", "pages [1] hold hardly any"):
        assert part in text
    assert "an API key" in text
    assert "not UTF-8" in text
    assert "abcdefghij" not in text


def test_extract_goes_on_where_it_ended_and_reads_changed_files_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text(f"Text of {name}.", encoding="utf-8")
    inputs, out = [tmp_path / "a.md", tmp_path / "b.md"], tmp_path / "chunks.jsonl"
    extract(inputs, out)
    (tmp_path / "b.md").write_text("New text of b.", encoding="utf-8")

    done = extract(inputs, out)

    assert done.skipped == 1
    assert [chunk.text for chunk in read_chunks(out)] == ["Text of a.", "New text of b."]


def test_nothing_to_read_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no document was found"):
        extract([tmp_path], tmp_path / "chunks.jsonl")


class Server(ThreadingHTTPServer):
    """Speaks Ollama's, OpenAI's and Anthropic's protocols; keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Routes)
        self.requests: list[tuple[str, Any]] = []
        self.replies: list[str] = []
        self.failures: list[int] = []
        self.polls = 0
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def reply(self) -> str:
        return self.replies.pop(0) if self.replies else REPLY


class Routes(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body))
        if self.server.failures:
            self.answer({"error": {"message": "busy"}}, self.server.failures.pop(0))
        elif self.path == "/api/chat":
            self.answer({"message": {"role": "assistant", "content": self.server.reply()}, "done": True})
        elif self.path == "/v1/chat/completions":
            self.answer({"choices": [{"message": {"role": "assistant", "content": self.server.reply()}}]})
        else:
            self.answer(self.batch("in_progress"))

    def do_GET(self) -> None:
        if not self.path.endswith("/results"):
            self.server.polls += 1
            self.answer(self.batch("ended" if self.server.polls > 1 else "in_progress"))
            return
        texts = [body for path, body in self.server.requests if path == "/v1/messages/batches"][-1]["requests"]
        lines = []
        for request in texts:
            message = {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude",
                "content": [{"type": "text", "text": self.server.reply()}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
            lines.append(
                json.dumps({"custom_id": request["custom_id"], "result": {"type": "succeeded", "message": message}})
            )
        lines[-1] = json.dumps({"custom_id": texts[-1]["custom_id"], "result": {"type": "expired"}})
        self.send(200, "application/x-jsonl", "\n".join(lines).encode())

    def batch(self, state: str) -> dict[str, object]:
        return {
            "id": "msgbatch_1",
            "type": "message_batch",
            "processing_status": state,
            "request_counts": {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
            "created_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
            "results_url": f"{self.server.url}/v1/messages/batches/msgbatch_1/results",
        }

    def answer(self, body: object, status: int = 200) -> None:
        self.send(status, "application/json", json.dumps(body).encode())

    def send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in the base class)
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.shutdown()
    running.server_close()


def chunks(count: int) -> list[Chunk]:
    return [Chunk(f"c{number}", f"{number}.md", 0, "Mail", f"{FACT} It is number {number}.") for number in range(count)]


@pytest.mark.parametrize(
    ("build", "path"),
    [
        (lambda url: OllamaGenerator(url, "qwen"), "/api/chat"),
        (lambda url: OpenAiGenerator(f"{url}/v1", "gpt", "key"), "/v1/chat/completions"),
    ],
    ids=["ollama", "openai"],
)
def test_a_chat_model_writes_pairs_and_bad_replies_are_reported(
    build: Callable[[str], Any], path: str, server: Server, tmp_path: Path
) -> None:
    invented = json.dumps([{"question": "Where does the relay listen?", "answer": "The relay listens on port 9999."}])
    server.replies = [REPLY, "I would rather not.", invented]

    done = generate(chunks(3), build(server.url), tmp_path / "pairs.jsonl")

    assert [where for where, _ in server.requests] == [path] * 3
    assert [pair.source for pair in read_pairs(tmp_path / "pairs.jsonl")] == ["0.md"]
    assert done.refused == {"a number or name of the answer does not stand in the chunk": 1}
    assert "no JSON array" in done.problems[0]


def test_a_second_run_asks_only_about_chunks_without_an_answer(server: Server, tmp_path: Path) -> None:
    server.replies = [REPLY, "nonsense", REPLY]
    back_end = OllamaGenerator(server.url, "qwen")
    generate(chunks(3), back_end, tmp_path / "pairs.jsonl")

    done = generate(chunks(3), back_end, tmp_path / "pairs.jsonl")

    assert (done.skipped, done.pairs, len(server.requests)) == (2, 3, 4)


def test_batches_share_a_cached_prefix_are_polled_and_survive_a_kill(server: Server, tmp_path: Path) -> None:
    client = anthropic.Anthropic(base_url=server.url, api_key="test", max_retries=0)
    found = [*chunks(2), Chunk("last", "0.md", 0, "Mail", FACT)]
    ticket = tmp_path / "ticket.json"
    pauses: list[float] = []

    done = generate(found, AnthropicBatches(client, "claude", ticket, pauses.append), tmp_path / "pairs.jsonl")

    body = server.requests[0][1]["requests"]
    assert [request["custom_id"] for request in body] == ["c0", "c1", "last"]
    assert body[0]["params"]["system"] == body[2]["params"]["system"]
    assert body[0]["params"]["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert pauses == [20.0]
    assert done.pairs == 2
    assert "expired" in done.problems[0]
    assert not ticket.exists()

    ticket.write_text('{"batch": "msgbatch_1"}', encoding="utf-8")
    generate(found, AnthropicBatches(client, "claude", ticket, pauses.append), tmp_path / "again.jsonl")
    assert len(server.requests) == 1
    client.close()


def test_more_chunks_than_a_batch_may_hold_go_out_in_several(server: Server, tmp_path: Path) -> None:
    client = anthropic.Anthropic(base_url=server.url, api_key="test", max_retries=0)
    back_end = AnthropicBatches(client, "claude", tmp_path / "ticket.json", lambda _: None, most=2)

    done = generate(chunks(5), back_end, tmp_path / "pairs.jsonl")

    assert [len(body["requests"]) for _, body in server.requests] == [2, 2, 1]
    assert (done.pairs, len(done.problems)) == (2, 3)  # the server lets the last request of each batch expire
    client.close()


def test_a_busy_server_is_asked_again_after_longer_and_longer_pauses(server: Server) -> None:
    server.failures = [503, 529]
    pauses: list[float] = []

    post_json(f"{server.url}/api/chat", {}, pause=pauses.append)

    assert pauses == [1.0, 2.0]


def test_a_refusal_that_waiting_cannot_mend_is_told_at_once(server: Server) -> None:
    server.failures = [401]

    with pytest.raises(NeedsRepair, match=r"answered 401: .*busy"):
        post_json(f"{server.url}/api/chat", {}, pause=lambda _: None)


def test_rules_need_no_server_and_give_the_same_pairs_every_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        generate(chunks(2), RuleGenerator(), tmp_path / f"{name}.jsonl")

    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_pairs_begin_with_the_system_message_that_was_named(tmp_path: Path) -> None:
    generate(chunks(2), RuleGenerator(), tmp_path / "pairs.jsonl", system="You know our mail.")
    generate(chunks(2), RuleGenerator(), tmp_path / "pairs.jsonl")  # another message: all of it is made anew

    assert {pair.system for pair in read_pairs(tmp_path / "pairs.jsonl")} == {SYSTEM}

    generate(chunks(2), RuleGenerator(), tmp_path / "pairs.jsonl", system="You know our mail.")
    assert {pair.system for pair in read_pairs(tmp_path / "pairs.jsonl")} == {"You know our mail."}


def test_no_pair_at_all_is_an_error(server: Server, tmp_path: Path) -> None:
    server.replies = ["[]"] * 2

    with pytest.raises(DataError, match="no pair was kept out of 2 chunks"):
        generate(chunks(2), OllamaGenerator(server.url, "qwen"), tmp_path / "pairs.jsonl")


def test_what_a_run_costs_is_known_before_and_the_budget_is_hard() -> None:
    plan = estimate(chunks(1_000), 5, Price(3.0, 15.0))

    assert plan.requests == 1_000
    assert plan.tokens_written == 800_000
    assert plan.dollars == pytest.approx(12.0, abs=2.0)
    check_budget(plan, 20.0)
    with pytest.raises(UsageError, match="more than the budget of"):
        check_budget(plan, 1.0)


def test_the_outline_that_goes_with_every_request_of_a_document_is_counted() -> None:
    long = [Chunk(f"c{number}", "book.md", 0, "", f"{FACT} It is number {number}.") for number in range(100)]
    client = anthropic.Anthropic(base_url="http://127.0.0.1:1", api_key="test")
    shared = AnthropicBatches(client, "claude", Path("ticket.json")).list_shared_texts(long)
    client.close()

    with_outline, without = estimate(long, 5, None, shared), estimate(long, 5, None)

    assert len(shared) == 100
    assert with_outline.tokens_read - without.tokens_read == 100 * len(shared[0]) // 4


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--by", "openai", "--url", "http://127.0.0.1:1/v1"], "at a price that was not given; the text goes to http"),
        (["--by", "openai", "--url", "http://127.0.0.1:1/v1", "--price", "3", "15", "--budget", "1"], "about $0.0"),
        (["--by", "ollama"], "no charge; the text goes to http://127.0.0.1:11434"),
    ],
)
def test_a_dry_run_says_what_it_would_cost_and_where_the_text_would_go(
    options: list[str], expected: str, tmp_path: Path
) -> None:
    (tmp_path / "chunks.jsonl").write_text(json.dumps(chunks(1)[0].as_row()) + "\n", encoding="utf-8")

    done = run_trainer("generate", "chunks.jsonl", "--model", "m", "--dry-run", *options, cwd=tmp_path)

    assert done.returncode == 0
    assert expected in done.stderr


def run_trainer(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trainer", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_the_stages_run_one_after_the_other_from_the_command_line(tmp_path: Path) -> None:
    for name, port in (("mail", 25), ("web", 80), ("ssh", 22)):
        (tmp_path / f"{name}.md").write_text(
            f"# {name}\n\nThe {name} service listens on port {port}.", encoding="utf-8"
        )

    extracted = run_trainer("extract", "mail.md", "web.md", "ssh.md", cwd=tmp_path)
    generated = run_trainer("generate", "corpus_chunks.jsonl", cwd=tmp_path)
    divided = run_trainer("split", "pairs.jsonl", "--share", "0.3", cwd=tmp_path)

    assert "3 documents (0 done before), 3 chunks" in extracted.stderr
    assert "no charge; the text goes to this machine" in generated.stderr
    assert "Q: Where does the mail service listen?" in generated.stderr
    assert "pairs.train.jsonl: 4 pairs of 2 sources" in divided.stderr
    assert len(read_pairs(tmp_path / "pairs.validation.jsonl")) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["generate", "missing.jsonl"], 2, "missing.jsonl: there is no such file. Run the stage that writes it first."),
        (["split", "empty.jsonl"], 1, "empty.jsonl: 0 pairs are fewer than the 1"),
        (["generate", "chunks.jsonl", "--by", "openai", "--model", "m"], 2, "--by openai needs --url"),
    ],
)
def test_errors_are_one_sentence_and_an_exit_code(
    arguments: list[str], code: int, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "chunks.jsonl").write_text(json.dumps(chunks(1)[0].as_row()) + "\n", encoding="utf-8")

    done = run_trainer(*arguments, cwd=tmp_path)

    assert done.returncode == code
    assert expected in done.stderr
    assert done.stdout == ""
