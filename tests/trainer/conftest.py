"""A model small enough for unit tests, pairs to teach it, and a service in a process of its own."""

import importlib.util
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.trainer.processes import start_trainer
from trainer.pairs import Pair, write_pairs

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

HERE = Path(__file__).parent
HAS_TRAINER = importlib.util.find_spec("trl") is not None
# Without the trainer's libraries its tests cannot even be collected; the others run everywhere.
collect_ignore = [
    file.name
    for file in HERE.glob("test_*.py")
    if not HAS_TRAINER and "mark.trainer" in file.read_text(encoding="utf-8")
]


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen2 of 90,000 random weights in the hub's layout, with a byte tokenizer and Qwen2.5's chat template."""
    # These libraries are only in the trainer's environment.
    import torch  # noqa: PLC0415
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415
    from trl.chat_template_utils import qwen2_5_chat_template  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("tiny-base")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learner = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["Which port does the service use?", "The service uses port 7000."], learner)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = qwen2_5_chat_template
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture
def pairs() -> list[Pair]:
    """Twelve pairs of four sources."""
    return [
        Pair(
            question=f"Which port does service {number} use?",
            answer=f"Service {number} uses port {7000 + number}.",
            system="Answer shortly.",
            source=f"services-{number % 4}.md",
            keys=(str(7000 + number),),
        )
        for number in range(12)
    ]


@pytest.fixture
def pairs_file(pairs: list[Pair], tmp_path: Path) -> Path:
    """The pairs as a training file."""
    path = tmp_path / "pairs.jsonl"
    write_pairs(path, pairs)
    return path


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """Waits for a condition; fails where it does not come in time."""
    return wait_for


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    moment = threading.Event()
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not in {seconds} s: {condition}"
        moment.wait(0.02)


class ServiceProcess:
    """The service, forked from a process that has imported the libraries."""

    def __init__(self, home: Path, *options: str):
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self._port_file = home / "port"
        self._port_file.unlink(missing_ok=True)
        self.token = "test-token-of-32-characters-0000"
        command = ["serve", "--port", "0", "--port-file", str(self._port_file), "--cpu", "--threads", "1", *options]
        variables = {"ONEIROS_TRAINER_HOME": str(home), "ONEIROS_TRAINER_TOKEN": self.token}
        self.process = start_trainer(command, home / "service.log", variables)

    @property
    def port(self) -> int:
        wait_for(lambda: self._port_file.exists() or not self.process.is_alive(), 300)
        assert self.process.is_alive(), (self.home / "service.log").read_text(encoding="utf-8")
        return int(self._port_file.read_text(encoding="utf-8"))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def close(self) -> None:
        self.process.terminate()
        self.process.join(120)
        assert not self.process.is_alive(), "the service did not end"


@pytest.fixture(scope="session")
def service_process() -> type[ServiceProcess]:
    """The class, for fixtures that outlive a test."""
    return ServiceProcess


@pytest.fixture
def start_service() -> Iterator[Callable[..., ServiceProcess]]:
    """Starts services; all of them end with the test."""
    started: list[ServiceProcess] = []

    def start(home: Path, *options: str) -> ServiceProcess:
        started.append(ServiceProcess(home, *options))
        return started[-1]

    yield start
    for service in started:
        service.close()
