"""Measures redaction: what is masked of the shapes and forms that rules were written on, and of those held back.

    python -m benchmarks.redaction [--json] [--data DIR] [--before TREE]

Shapes are those that the rules of Betterleaks (MIT, the successor of gitleaks) give for the services' tokens, read into
`secret_shapes.tsv` by a program; forms are `secret_forms.py`. Both are split by the hash of the service's or the form's
name; a service that had a rule before the split counts as written. The table of rules names no service that is held
back, and a test says so. A shape or a form counts as masked where nothing of its secret shows in any of its texts; in
brackets the 95 % interval by bootstrap over them.

5,000 harmless lines (documents, code, logs, prose, and lines that resemble secrets) and the identifiers of the
exact-search sets should stay as they are. DIR is the folder of test data; TREE is another checkout, measured on the
same texts.
"""

import argparse
import base64
import hashlib
import json
import lzma
import os
import random
import re
import resource
import string
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.intake import shows
from benchmarks.machine import machine_text
from benchmarks.metrics import confidence
from benchmarks.planted_secrets import Maker
from benchmarks.runs import read_table
from benchmarks.secret_forms import FORMS
from memory_server.redaction import Redactor

SEEDS = range(3)
# Services with a rule of their own, or named as missing one, before the list was split.
KNOWN_BEFORE = frozenset(
    "1password age airtable anthropic artifactory atlassian aws azure brevo sendinblue cargo crates cerebras"
    " cloudflare databricks digitalocean discord docker doppler dropbox e2b easypost facebook figma fireworks gcp"
    " github gitlab google grafana groq grokxaiapikey hashicorp heroku huggingface jwt langchain langsmith linear"
    " mailchimp mailgun neon netlify new newrelic notion npm nvidia openai openrouter perplexity pinecone"
    " planetscale posthog postman pulumi pypi replicate resend rubygems sendgrid sentry shopify slack square"
    " stripe supabase tailscale tavily telegram terraform twilio vault vercel xai".split()
)
CONTEXTS = (
    "I put {} into the settings, does that work?",
    'client = Client("{}")',
    "{}",
    "url: https://x.org/?k={}&n=1",
)
NAMED_FORMS = ('{name} = "{}"', "{name}={}", '"{lower}": "{}"', "{lower}: {}")
HARMLESS_LINES = {"documents": 1_300, "code": 1_300, "logs": 1_000, "prose": 1_020, "lookalikes": 380}
CLASS = re.compile(r"\[([^\]]+)\](?:\{(\d+)\})?")


class Case(NamedTuple):
    """A text with a secret in it."""

    name: str  # of the shape or the form
    text: str
    secret: str


class Masked(NamedTuple):
    """How many shapes or forms of a part are masked in all of their texts."""

    share: float
    interval: tuple[float, float]
    of: int
    missed: tuple[str, ...]


Redact = Callable[[Sequence[str]], list[str]]


def main() -> int:
    arguments = argument_parser().parse_args()
    data: Path = arguments.data
    report = {"machine": machine_text(), "now": measure(data, redact_here)}
    if arguments.before:
        report["before"] = measure(data, lambda texts: redact_in(arguments.before, texts))
    if arguments.json:
        print(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        show(report)
    return 0


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of test data")
    parser.add_argument("--before", type=Path, help="another checkout, measured on the same texts")
    parser.add_argument("--json", action="store_true", help="print JSON, with the names of what was missed")
    return parser


def measure(data: Path, redact: Redact) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for unit, cases, held in (("services", shape_cases(), is_held_service), ("forms", form_cases(), is_held)):
        for part in ("written", "held back"):
            chosen = [case for case in cases if held(case.name.split(":")[0]) == (part == "held back")]
            figures[f"{unit}, {part}"] = count_masked(chosen, redact)._asdict()
    for kind, lines in harmless_lines(data).items():
        figures[f"touched, {kind}"] = count_touched(lines, redact)
    figures["touched, all"] = {
        key: sum(figures[f"touched, {kind}"][key] for kind in HARMLESS_LINES) for key in ("touched", "lines")
    }
    figures["touched, identifiers"] = count_touched(identifiers(data), redact)
    figures["mb_per_s"] = speed(data, redact)
    return figures


def count_masked(cases: Sequence[Case], redact: Redact) -> Masked:
    """The share of shapes or forms that are masked in all their texts."""
    whole: dict[str, bool] = {}
    for case, text in zip(cases, redact([case.text for case in cases]), strict=True):
        whole[case.name] = whole.get(case.name, True) and not shows(text, case.secret)
    values = [float(value) for value in whole.values()]
    share = sum(values) / len(values)
    low, high = confidence(values)
    missed = tuple(name for name, is_whole in whole.items() if not is_whole)
    return Masked(round(share, 4), (round(low, 4), round(high, 4)), len(values), missed)


def count_touched(lines: Sequence[str], redact: Redact) -> dict[str, Any]:
    """How many lines that hold no secret are changed, and some of them."""
    changed = [line for line, after in zip(lines, redact(lines), strict=True) if after != line]
    return {"touched": len(changed), "lines": len(lines), "examples": [line[:160] for line in changed[:40]]}


def redact_here(texts: Sequence[str]) -> list[str]:
    redactor = Redactor()
    return [redactor.redact(text).text for text in texts]


def redact_in(tree: Path, texts: Sequence[str]) -> list[str]:
    """What another checkout makes of the texts."""
    program = (
        "import json, sys; from memory_server.redaction import Redactor; r = Redactor();"
        "json.dump([r.redact(t).text for t in json.load(sys.stdin)], sys.stdout)"
    )
    environment = os.environ | {"PYTHONPATH": str(tree.resolve())}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tree,
        env=environment,
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    redacted: list[str] = json.loads(done.stdout)
    return redacted


def is_held(name: str) -> bool:
    """Whether a name belongs to the part that no rule is written on."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def is_held_service(service: str) -> bool:
    return is_held(service) and service not in KNOWN_BEFORE


def shape_cases() -> list[Case]:
    """Every shape in sentences, code and addresses, or beside its name where it has no mark of its own."""
    return [
        Case(f"{row['service']}:{row['rule']}", text, secret)
        for row in read_table(Path(__file__).with_name("secret_shapes.tsv"))
        for seed in SEEDS
        for text, secret in texts_of_shape(row, seed)
    ]


def texts_of_shape(row: dict[str, str], seed: int) -> Iterator[tuple[str, str]]:
    token = make_example(row["shape"], seed)
    secret = token.removeprefix(CLASS.split(row["shape"])[0])  # what stands before is the same for everybody
    name = row["rule"].replace("-", "_").replace(".", "_")
    for form in CONTEXTS if row["beside"] == "own" else NAMED_FORMS:
        yield form.replace("{name}", name.upper()).replace("{lower}", name).replace("{}", token), secret


def make_example(shape: str, seed: int) -> str:
    """A made-up token: `[class]{count}` becomes characters of the class, with a digit and each case it allows."""
    dice = random.Random(f"{shape}{seed}")  # noqa: S311  # made up, and the same on every run
    return CLASS.sub(lambda match: draw(dice, members(match[1]), int(match[2] or 1)), shape)


def members(text: str) -> str:
    """The characters of a class such as `A-Za-z0-9_-`."""
    ranges = {"A-Z": string.ascii_uppercase, "a-z": string.ascii_lowercase, "0-9": string.digits, "A-F": "ABCDEF"}
    ranges |= {"a-f": "abcdef", "G-Z": string.ascii_uppercase[6:], "1-9": "123456789", "2-7": "234567"}
    for short, long in ranges.items():
        text = text.replace(short, long)
    return "".join(sorted(set(text)))


def draw(dice: random.Random, alphabet: str, count: int) -> str:
    return "".join(dice.choice(alphabet) for _ in range(count))


def form_cases() -> list[Case]:
    cases = []
    for name, template, make in FORMS:
        for seed in SEEDS:
            maker = Maker(hash_text(f"{name}{seed}"))
            text, secret = make_value(make, maker)
            cases.append(Case(name, template.replace("{}", text), secret))
    return cases


def hash_text(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def make_value(make: str, maker: Maker) -> tuple[str, str]:
    """What stands in the text, and which of it must not show."""
    token = "ghp_" + maker.alnum(36)
    key = "sk-ant-api03-" + maker.urlsafe(90)
    begin, end = (f"-----{word} PRIVATE KEY-----" for word in ("BEGIN", "END"))
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
    configuration = f'{{"user": "ci", "password": "{maker.password()}"}}'
    made: dict[str, Callable[[], str]] = {
        "alnum": lambda: maker.alnum(32),
        "hex": lambda: maker.hex(64),
        "base64": lambda: maker.base64(30),
        "base64 of 32": lambda: maker.base64(32),
        "base32": lambda: maker.of(string.ascii_uppercase + "234567", 32),
        "urlsafe": lambda: maker.urlsafe(43),
        "symbols": lambda: "django-insecure-" + maker.of(string.ascii_lowercase + string.digits + "!@#%^&*", 40),
        "password": maker.password,
        "password beside": maker.password,
        "uuid": lambda: "-".join(maker.hex(n) for n in (8, 4, 4, 4, 12)),
        "pem": lambda: f"{begin}\n{body}{maker.base64(24)}\n{maker.base64(48)}\n{end}",
        "pem in one line": lambda: f"{begin}\\n{body}{maker.base64(24)}\\n{maker.base64(48)}\\n{end}\\n",
        "openssh body": lambda: "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
        + maker.base64(51) + "\n" + maker.base64(51),
        "base64 of a key": lambda: base64.b64encode(key.encode()).decode(),
        "base64 of a name": lambda: base64.b64encode(configuration.encode()).decode(),
    }  # fmt: skip
    broken = {
        "token with a colour": f"{token[:12]}\x1b[1;32m{token[12:]}",
        "token with a mark": f"{token[:12]}\u200b{token[12:]}",
        "token over two lines": f"{token[:20]}\n{token[20:]}",
    }
    if make in broken:
        return broken[make], token[-19:]
    if make == "jwt over two lines":
        jwt = maker.jwt()
        return f"{jwt[:60]}\n{jwt[60:]}", jwt[60:]
    text = made[make]()
    return text, text


LOOKALIKES = (
    "key: cache-key-[0-9a-f]{32}",
    "restore-keys: node-modules-[0-9a-f]{64}",
    "pip install sk-learn-contrib-imbalanced-ensemble",
    '<div class="md:text-gray-500-hover:bg-blue-[0-9]{3} css-[0-9a-z]{6} sc-[a-zA-Z]{6}-[0-9]{1}">',
    "commit [0-9a-f]{40}",
    "index [0-9a-f]{7}..[0-9a-f]{7} 100644",
    '"integrity": "sha512-[A-Za-z0-9+/]{86}=="',
    "lodash@4.17.21 sha256:[0-9a-f]{64}",
    'checksum = "[0-9a-f]{64}"',
    'name = "serde" version = "1.0.[0-9]{3}"',
    "session [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}",
    'api_key = os.environ["X_TOKEN"]',
    "token: ${{ secrets.NPM_TOKEN }}",
    "const token = process.env.TOKEN;",
    "API_KEY=YOUR_API_KEY",
    "password: ${TOKEN}",
    "TOKEN=<your-token-here>",
    "toolu_01[A-Za-z0-9]{22} finished",
    "msg_01[A-Za-z0-9]{22}",
    "request_id=req_011C[A-Za-z0-9]{20}",
    "customer cus_[A-Za-z0-9]{14} paid pi_[A-Za-z0-9]{24}",
    "Merge pull request #[0-9]{4} from feature/token-refresh",
    "max_tokens: [0-9]{4}, n_tokens=[0-9]{5}",
    "class PasswordResetTokenGenerator extends BaseTokenService {",
    "def test_the_secret_key_is_read_from_the_environment_2(self):",
    "GET /assets/index-[A-Za-z0-9]{8}.js 200 12ms",
    "pod/web-7d4b9c6f5d-[a-z0-9]{5} Running",
    "arn:aws:iam::[0-9]{12}:role/deploy",
    "i-0[0-9a-f]{16} subnet-0[0-9a-f]{16}",
    "image: nginx@sha256:[0-9a-f]{64}",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA[A-Za-z0-9+/]{60}",
    "https://www.youtube.com/watch?v=[A-Za-z0-9_-]{11}",
    "https://docs.google.com/document/d/1[A-Za-z0-9_-]{43}/edit",
    'ETag: W/"[0-9a-f]{8}-[A-Za-z0-9+/]{27}"',
    "The password must have 12 characters and a digit.",
    "public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA[A-Za-z0-9+/]{44} amy@host",
    "fingerprint SHA256:[A-Za-z0-9+/]{43}",
    "at Object.<anonymous> (/app/node_modules/jest-[0-9a-z]{8}/build/index.js:[0-9]{2}:[0-9]{2})",
    'uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"',
    "localStorage.getItem('auth_token_expires_at')",
    "secretName: tls-cert-[0-9]{4}",
    "keyId: [0-9a-f]{16}",
    "primary key (tenant_id, token_hash)",
    "passwordless login with passkeys",
    "author: Web3AuthVerifierService",
    "SELECT token_count, key_name FROM usage WHERE id = [0-9]{6}",
    "--- a/src/auth/token_store.rs\t2026-01-[0-9]{2}",
    "x-request-id: [0-9a-f]{32}",
    "traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-01",
    "chatcmpl-[A-Za-z0-9]{29}",
)


def harmless_lines(data: Path) -> dict[str, list[str]]:
    """5,000 lines that hold no secret, the same on every run."""
    sources: dict[str, Iterator[str]] = {
        "documents": read_lines_of_files(sorted((data / "docs").rglob("*.md"))),
        "code": read_lines_of_files(sorted(Path(os.__file__).parent.glob("*.py"))),
        "logs": lines_of_strings(json_values(sorted((data / "transcripts").rglob("*.jsonl*")))),
        "prose": lines_of_strings(json.loads(path.read_text(encoding="utf-8")) for path in prose_files(data)),
        "lookalikes": (make_example(shape, seed) for shape in LOOKALIKES for seed in range(10)),
    }
    return {kind: sample(lines, HARMLESS_LINES[kind]) for kind, lines in sources.items()}


def sample(lines: Iterator[str], count: int) -> list[str]:
    usable = list(dict.fromkeys(line for line in lines if 12 <= len(line.strip()) <= 400))
    return random.Random(5).sample(usable, min(count, len(usable)))  # noqa: S311  # the same on every run


def read_lines_of_files(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        yield from path.read_text(encoding="utf-8", errors="replace").splitlines()


def lines_of_strings(values: Iterator[Any]) -> Iterator[str]:
    for value in values:
        for text in find_strings(value):
            yield from text.splitlines()


def find_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from find_strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from find_strings(item)


def json_values(paths: Sequence[Path]) -> Iterator[Any]:
    for path in paths:
        for line in read_whole(path).splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue  # torn lines are part of the data


def read_whole(path: Path) -> str:
    raw = path.read_bytes()
    return (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode(errors="replace")


def prose_files(data: Path) -> list[Path]:
    return [*sorted((data / "locomo").glob("*.json")), *sorted((data / "longmemeval").glob("*.json"))]


def identifiers(data: Path) -> list[str]:
    """What the exact-search sets ask for."""
    names = ("exact_docs.jsonl", "exact_transcripts.jsonl")
    rows = [line for name in names for line in (data / "eval" / name).read_text(encoding="utf-8").splitlines()]
    return [json.loads(row)["query"] for row in rows]


def speed(data: Path, redact: Redact) -> dict[str, float]:
    """MB a second of one core, over whole transcripts and over a megabyte of lines that nearly match."""
    files = sorted((data / "transcripts").rglob("*.jsonl*"), key=lambda path: -path.stat().st_size)[:6]
    texts = {
        "transcripts": [read_whole(path) for path in files],
        "lines of code": ['x = httpclient.GetResponse("https://example.org/items")\n' * (200_000 // 56)],
        "one line": ["httpclient.GetResponse(" * (200_000 // 23)],
    }
    return {name: round(mb_per_second(pieces, redact), 2) for name, pieces in texts.items()}


def mb_per_second(texts: Sequence[str], redact: Redact) -> float:
    """By the processor's clock, since other work takes turns on it; children count once they have ended."""
    started = processor_seconds()
    redact(texts)
    return sum(len(text.encode()) for text in texts) / 1e6 / max(1e-9, processor_seconds() - started)


def processor_seconds() -> float:
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def show(report: dict[str, Any]) -> None:
    """The figures as a table on stdout."""
    print(report["machine"])
    for name in report["now"]:
        print(f"{name:28}", *(figure_text(report[version][name]) for version in ("now", "before") if version in report))


def figure_text(figure: dict[str, Any]) -> str:
    if "share" in figure:
        low, high = figure["interval"]
        return f"{figure['share']:6.1%} ({low:.1%}-{high:.1%}) of {figure['of']}".ljust(36)
    if "touched" in figure:
        return f"{figure['touched'] / max(1, figure['lines']):6.2%} of {figure['lines']}".ljust(36)
    return ", ".join(f"{name} {value}" for name, value in figure.items()).ljust(36)


if __name__ == "__main__":
    sys.exit(main())
