"""Training, interrupting, continuing, preferring, merging: on a tiny model, through the commands a person uses."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import get_peft_model

from tests.trainer.processes import start_trainer
from trainer.errors import BelowBase, Busy, DataError, NeedsRepair, UsageError
from trainer.evaluation.answers import greedy_answers, mean_loss
from trainer.evaluation.evaluate import check_fit_to_serve, evaluate, spread
from trainer.evaluation.scoring import is_right
from trainer.files import read_json, write_json, write_json_lines
from trainer.generate.validation import support
from trainer.laptop import CALIBRATION, PARAPHRASES, TRAINING, VALIDATION
from trainer.pairs import Pair, read_pairs, write_pairs
from trainer.training.adapter import as_base, attach_adapter, calibrate, fingerprint
from trainer.training.base_model import find_base, load_model, load_tokenizer
from trainer.training.callbacks import StopFlag
from trainer.training.events import EventFile, read_events, read_heartbeat
from trainer.training.fit import Request, begin, prepare_trainer, train
from trainer.training.lock import TrainingLock
from trainer.training.machine import Machine, Precision, check_room, this_machine
from trainer.training.masking import check_labels, fitting, learnt_texts
from trainer.training.preference import prefer
from trainer.training.presets import PRESETS, choose_preset
from trainer.training.publish import merge
from trainer.training.recipe import Plan, arguments, build_settings, build_trainer, lora
from trainer.training.run_folder import RunFolder

pytestmark = [
    pytest.mark.trainer,
    pytest.mark.timeout(900),  # a process that imports torch takes a minute on a busy machine
    # Deprecations inside transformers, TRL and torch that concern their authors; ours stay errors.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

CPU = this_machine(use_card=False)


class Command:
    """`python -m trainer train` as a process; what it says lies in the folder, in a file of its own."""

    def __init__(self, folder: Path, *options: str):
        self._log = folder / f"train-{len(list(folder.glob('train-*.log')))}.log"
        self.process = start_trainer(["train", *options], self._log, {})

    def finished(self) -> tuple[int | None, str]:
        self.process.join(250)
        return self.process.exitcode, self._log.read_text(encoding="utf-8")


FIXED = ["--cpu", "--threads", "1", "--max-steps", "24", "--save-steps", "4"]


@pytest.fixture
def begin_run(tiny_base: Path, tmp_path: Path) -> Callable[..., Command]:
    """Starts a run of 24 steps with dropout, a checkpoint every 4."""
    pairs_file = tmp_path / "pairs.jsonl"
    write_pairs(pairs_file, twelve_pairs())

    def start(name: str, *more: str) -> Command:
        run = tmp_path / "runs" / name
        return Command(tmp_path, str(pairs_file), "--base", str(tiny_base), "--run", str(run), *FIXED, *more)

    return start


@pytest.fixture(scope="module")
def finished_run(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, ended without interruption. Read it only."""
    folder = tmp_path_factory.mktemp("finished")
    write_pairs(folder / "pairs.jsonl", twelve_pairs())
    run = folder / "runs" / "straight"
    command = Command(folder, str(folder / "pairs.jsonl"), "--base", str(tiny_base), "--run", str(run), *FIXED)
    code, talk = command.finished()
    assert code == 0, talk
    return run


@pytest.fixture
def straight(finished_run: Path, tmp_path: Path) -> RunFolder:
    """A copy of the finished run, to be changed at will."""
    return RunFolder(Path(shutil.copytree(finished_run, tmp_path / "runs" / "straight")))


def steps_of(run: Path) -> int:
    beat = read_heartbeat(run)
    return 0 if beat is None else beat.step


def build(pairs: list[Pair], base: Path, folder: Path, **changes: Any) -> Any:
    plan = Plan(replace(PRESETS["cpu"], max_length=256, **changes))
    return prepare_trainer(find_base(str(base), folder), pairs, [], plan, CPU, RunFolder(folder), [])[0]


def twelve_pairs() -> list[Pair]:
    return [Pair(f"Which port does service {n} use?", f"Service {n} uses port {7000 + n}.") for n in range(12)]


def test_labels_equal_a_row_written_by_hand(tiny_base: Path, tmp_path: Path) -> None:
    pairs = [Pair("Which port?", "Port 25.", "Answer.", source="a")]

    trainer = build(pairs, tiny_base, tmp_path)

    row = trainer.train_dataset[0]
    read = "<|im_start|>system\nAnswer.<|im_end|>\n<|im_start|>user\nWhich port?<|im_end|>\n<|im_start|>assistant\n"
    learnt = "Port 25.<|im_end|>\n"
    tokenizer = trainer.processing_class
    prompt = tokenizer(read, add_special_tokens=False)["input_ids"]
    answer = tokenizer(learnt, add_special_tokens=False)["input_ids"]
    assert row["input_ids"] == prompt + answer
    assert row["labels"] == [-100] * len(prompt) + answer


@pytest.mark.parametrize("packed", [False, True])
def test_no_loss_is_taken_on_any_prompt_token_of_a_real_batch(
    packed: bool, pairs: list[Pair], tiny_base: Path, tmp_path: Path
) -> None:
    trainer = build(pairs, tiny_base, tmp_path, pack=packed, batch=1 if packed else 6)

    learnt: list[str] = []
    for batch in trainer.get_train_dataloader():
        rows = [{"labels": row.tolist()} for row in batch["labels"]]
        learnt += learnt_texts(rows, trainer.processing_class)

    assert sorted(learnt) == sorted(f"{pair.answer}<|im_end|>\n" for pair in pairs)


def test_packing_puts_several_rows_into_one(pairs: list[Pair], tiny_base: Path, tmp_path: Path) -> None:
    trainer = build(pairs, tiny_base, tmp_path, pack=True, batch=1)

    assert len(trainer.train_dataset) < len(pairs)


def test_a_wrong_label_is_found(pairs: list[Pair], tiny_base: Path, tmp_path: Path) -> None:
    trainer = build(pairs, tiny_base, tmp_path)
    rows = [dict(row) for row in trainer.train_dataset]
    rows[3]["labels"] = rows[3]["input_ids"]

    with pytest.raises(DataError, match="the labels are not the answers"):
        check_labels(rows, pairs, trainer.processing_class)


def test_rows_that_do_not_fit_are_refused_and_never_cut(pairs: list[Pair], tiny_base: Path, tmp_path: Path) -> None:
    tokenizer = load_tokenizer(find_base(str(tiny_base), tmp_path))
    long = Pair("Which port?", "Port 25. " * 100, "Answer.")

    kept, too_long = fitting([*pairs, long], tokenizer, 200)

    assert (len(kept), too_long) == (12, 1)
    with pytest.raises(DataError, match="2 of 3 rows are longer than 200 tokens"):
        fitting([long, long, pairs[0]], tokenizer, 200)


def test_a_run_killed_at_any_step_and_resumed_gives_the_same_adapter_bit_for_bit(
    begin_run: Callable[..., Command], finished_run: Path, wait_until: Callable[..., None], tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    killed = begin_run("killed")
    wait_until(lambda: steps_of(runs / "killed") >= 5, 300)  # behind a checkpoint, and far from the end
    killed.process.kill()
    killed.finished()
    beat = read_heartbeat(runs / "killed")
    assert beat is not None
    assert beat.state == "killed"
    assert Command(tmp_path, "--resume", "--run", str(runs / "killed")).finished()[0] == 0

    assert fingerprint(runs / "killed" / "adapter") == fingerprint(finished_run / "adapter")
    assert curve(runs / "killed") == curve(finished_run)


def curve(run: Path) -> list[tuple[int, float]]:
    return [(row["step"], row["loss"]) for row in read_events(run / "events.jsonl") if row["event"] == "log"]


def test_sigterm_ends_a_run_with_a_whole_checkpoint_that_continues_bit_for_bit(
    begin_run: Callable[..., Command], finished_run: Path, wait_until: Callable[..., None], tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    stopped = begin_run("stopped")
    wait_until(lambda: steps_of(runs / "stopped") >= 6, 300)
    stopped.process.terminate()
    code, talk = stopped.finished()
    assert (code, "Stopped with a checkpoint" in talk) == (0, True)
    assert Command(tmp_path, "--resume", "--run", str(runs / "stopped")).finished()[0] == 0

    assert fingerprint(runs / "stopped" / "adapter") == fingerprint(finished_run / "adapter")


def test_a_torn_checkpoint_is_passed_over(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    for step in (4, 8):
        (run.checkpoints / f"checkpoint-{step}").mkdir(parents=True)
    run.mark_complete(4)

    assert run.last_checkpoint() == (run.checkpoints / "checkpoint-4", 4)
    assert not (run.checkpoints / "checkpoint-8").exists()


def test_a_run_whose_data_changed_is_not_resumed(straight: RunFolder) -> None:
    data = straight.training_data
    data.write_text(data.read_text(encoding="utf-8").replace("7003", "7993"), encoding="utf-8")

    with pytest.raises(DataError, match="the data changed since this run began"):
        train(straight, TrainingLock(straight.path.parent), StopFlag())

    beat = read_heartbeat(straight.path)
    assert beat is not None
    assert beat.state == "failed"


def test_a_second_run_is_turned_away_while_one_trains(
    begin_run: Callable[..., Command], wait_until: Callable[..., None], tmp_path: Path
) -> None:
    first = begin_run("first", "--max-steps", "2000")
    wait_until(lambda: steps_of(tmp_path / "runs" / "first") >= 1, 300)

    code, talk = begin_run("second").finished()
    first.process.kill()
    first.finished()

    assert code == 3
    assert "is training here" in talk
    assert not TrainingLock(tmp_path / "runs").is_held()


def test_the_record_of_a_run_says_what_decided_it(finished_run: Path) -> None:
    record = read_json(finished_run / "run.json")

    assert record["plan"]["seed"] == 7
    assert record["plan"]["preset"]["rank"] == 16
    assert set(record["data"]) == {"train.jsonl"}
    assert record["versions"]["torch"]
    assert record["machine"]["kind"] == "CPU"
    assert record["steps"] == 24
    assert record["revision"]
    assert record["metrics"]["loss"] > 0


def test_too_few_pairs_stop_a_run_before_it_begins(pairs: list[Pair], tmp_path: Path) -> None:
    write_pairs(tmp_path / "few.jsonl", pairs[:3])
    plan = Plan(PRESETS["cpu"])

    with pytest.raises(DataError, match="3 pairs are fewer than the 8"):
        begin(Request(tmp_path / "r", tmp_path / "few.jsonl", None, "smollm2-135m", tmp_path, plan))

    assert not (tmp_path / "r").exists()


def test_a_base_that_is_not_here_is_named_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"is not on this machine\. Allow it with --download"):
        find_base("somebody/some-model", tmp_path)


def test_events_after_the_checkpoint_are_dropped_with_a_torn_line(tmp_path: Path) -> None:
    events = EventFile(tmp_path, clock=lambda: 1.0)
    for step in (5, 10, 15):
        events.write("log", step, loss=1.0)
    with events.path.open("a", encoding="utf-8") as stream:
        stream.write('{"event": "log", "st')

    events.rewind(10)

    assert [row["step"] for row in read_events(events.path)] == [5, 10]


def test_a_temperature_divides_the_scores_of_the_tuned_model_and_leaves_the_base_alone(straight: RunFolder) -> None:
    base = find_base(straight.read()["base"], straight.path)
    ids = torch.tensor([[5, 60, 17, 88, 9]])

    def scores() -> tuple[torch.Tensor, torch.Tensor]:
        model = attach_adapter(load_model(base, CPU, quantised=False), straight.adapter).eval()
        with torch.inference_mode():
            tuned = model(ids).logits
            with as_base(model):
                return tuned, model(ids).logits

    plain, plain_base = scores()
    calibrate(straight.adapter, 2.0)
    tuned, as_it_came = scores()

    assert torch.allclose(tuned, plain / 2, atol=1e-5)
    assert torch.equal(as_it_came, plain_base)


def test_a_run_calibrates_on_further_pairs_and_loses_less_on_them(
    tmp_path: Path, pairs: list[Pair], tiny_base: Path
) -> None:
    for name, part in (("train.jsonl", twelve_pairs()), ("further.jsonl", pairs)):
        write_pairs(tmp_path / name, part)
    files = (tmp_path / "train.jsonl", None, str(tiny_base), tmp_path)
    plan = Plan(PRESETS["cpu"], max_steps=2)
    run = begin(Request(tmp_path / "run", *files, plan, tmp_path / "further.jsonl", use_card=False))

    train(run, TrainingLock(tmp_path), StopFlag())

    base = find_base(str(tiny_base), tmp_path)
    losses = {}
    for temperature in (run.read()["temperature"], 1.0):
        calibrate(run.adapter, temperature)
        model = attach_adapter(load_model(base, CPU, quantised=False), run.adapter).eval()
        losses[temperature] = mean_loss(model, load_tokenizer(base), pairs)
    assert run.read()["temperature"] != 1.0
    assert losses[run.read()["temperature"]] < losses[1.0]


@pytest.mark.parametrize(
    ("gigabytes", "preset"),
    [(None, "cpu"), (5.8, "6gb"), (11.9, "6gb"), (15.9, "16gb"), (79.2, "80gb"), (139.0, "80gb")],
)
def test_the_preset_follows_the_memory_of_the_card(gigabytes: float | None, preset: str) -> None:
    assert choose_preset(gigabytes).name == preset


def test_of_many_pairs_some_of_every_source_are_asked() -> None:
    many = [Pair(f"{n}?", "a", source=f"{n // 50}.md") for n in range(500)]

    asked = spread(many, 200)

    assert len(asked) == 167
    assert {pair.source for pair in asked} == {pair.source for pair in many}
    assert spread(many[:7], 200) == many[:7]


@pytest.mark.parametrize(
    ("precision", "flags"), [("bf16", (True, False)), ("fp16", (False, True))], ids=["new card", "old card"]
)
def test_a_small_card_accumulates_and_does_not_evaluate(precision: Precision, flags: tuple[bool, bool]) -> None:
    card = Machine("cuda", "CUDA", "a card", 6.0, 5.5, precision)

    settings = build_settings(Plan(PRESETS["6gb"]), card, evaluate=True)

    assert (settings["per_device_train_batch_size"], settings["gradient_accumulation_steps"]) == (1, 8)
    assert settings["eval_strategy"] == "no"
    assert settings["gradient_checkpointing"]
    assert settings["optim"] == "paged_adamw_8bit"
    assert (settings["bf16"], settings["fp16"]) == flags


@pytest.mark.parametrize("name", ["6gb", "16gb", "80gb"])
def test_the_settings_of_every_preset_for_cards_are_ones_that_the_library_takes(name: str, tmp_path: Path) -> None:
    card = Machine("cuda", "CUDA", "a card", 96.0, 95.0, "fp16")

    settings = arguments(Plan(PRESETS[name]), card, tmp_path, evaluate=True)

    assert settings.optim == PRESETS[name].optimiser
    assert (settings.fp16, settings.gradient_checkpointing) == (True, PRESETS[name].recompute)


@pytest.mark.parametrize(
    ("precision", "dtype"), [("bf16", torch.bfloat16), ("fp16", torch.float32)], ids=["new card", "old card"]
)
def test_the_adapters_of_a_quantised_base_are_float32_where_a_gradient_scaler_needs_it(
    precision: Precision, dtype: torch.dtype, pairs: list[Pair], tiny_base: Path, tmp_path: Path
) -> None:
    base = find_base(str(tiny_base), tmp_path)
    model, tokenizer = load_model(base, CPU, quantised=True), load_tokenizer(base)
    plan = Plan(replace(PRESETS["cpu"], max_length=256))

    trainer = build_trainer(model, tokenizer, pairs, [], plan, replace(CPU, precision=precision), tmp_path, [])

    assert {parameter.dtype for parameter in trainer.model.parameters() if parameter.requires_grad} == {dtype}


def test_a_full_card_is_refused_with_what_to_unload() -> None:
    card = Machine("cuda", "CUDA", "a card", 6.0, 1.2, "fp16")

    with pytest.raises(Busy, match=r"1.2 GB free, the preset 6gb needs 4.5 GB. Unload the served model"):
        check_room(card, PRESETS["6gb"])


def test_a_model_in_nf4_trains_on_the_processor_too(tiny_base: Path, tmp_path: Path) -> None:
    base = find_base(str(tiny_base), tmp_path)
    model = load_model(base, CPU, quantised=True)
    tuned = get_peft_model(model, lora(PRESETS["6gb"]))
    ids = torch.tensor([[5, 6, 7, 8]])

    loss = tuned(ids, labels=ids).loss
    loss.backward()

    assert model.is_loaded_in_4bit
    assert model.config.quantization_config.bnb_4bit_use_double_quant
    assert all(parameter.grad is not None for name, parameter in tuned.named_parameters() if "lora_B" in name)


def test_preferences_move_the_adapter_which_a_resume_of_the_ended_run_then_leaves_alone(
    straight: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = straight
    before = fingerprint(run.adapter)
    row = {
        "prompt": [{"role": "user", "content": "Which port?"}],
        "chosen": [{"role": "assistant", "content": "Port 25."}],
        "rejected": [{"role": "assistant", "content": "Port 26."}],
    }
    write_json_lines(tmp_path / "preferences.jsonl", [row] * 4)

    figures = prefer(run, tmp_path / "preferences.jsonl", TrainingLock(run.path.parent), max_steps=2)

    assert [path.name for path in run.adapter.iterdir() if path.is_dir()] == []
    moved = fingerprint(run.adapter)
    assert train(run, TrainingLock(run.path.parent), StopFlag())["adapter_sha256"] == moved == fingerprint(run.adapter)
    assert figures["steps"] == 2
    assert figures["first"] == pytest.approx(0.693, abs=0.01)
    assert moved != before
    assert capsys.readouterr().out == ""


def test_a_merged_model_answers_like_base_and_adapter(straight: RunFolder, tmp_path: Path) -> None:
    run = straight
    calibrate(run.adapter, 1.5)
    merge(run, tmp_path / "merged")

    base = find_base(run.read()["base"], tmp_path)
    tuned = attach_adapter(load_model(base, CPU, quantised=False), run.adapter).eval()
    merged = load_model(find_base(str(tmp_path / "merged"), tmp_path), CPU, quantised=False)
    ids = torch.tensor([[5, 60, 17, 88, 9]])
    with torch.inference_mode():
        assert torch.allclose(tuned(ids).logits, merged(ids).logits, atol=1e-4)

    with pytest.raises(UsageError, match="this folder is not empty"):
        merge(run, tmp_path / "merged")


def test_a_model_that_was_not_scored_or_is_below_its_base_is_not_served(straight: RunFolder, pairs: list[Pair]) -> None:
    run = straight
    with pytest.raises(BelowBase, match="was not evaluated"):
        check_fit_to_serve(run)

    result = evaluate(run, paraphrases=pairs[:2], max_questions=4)
    assert (result.questions, result.answers_tuned, result.answers_paraphrased) == (4, 0.0, 0.0)
    with pytest.raises(BelowBase, match=r"not fit to serve: it answers 0% .* serve it with --force"):
        check_fit_to_serve(run)
    check_fit_to_serve(run, force=True)

    write_json(run.evaluation, read_json(run.evaluation) | {"faults": []})
    check_fit_to_serve(run)
    calibrate(run.adapter, 1.5)
    with pytest.raises(BelowBase, match="changed since it was evaluated"):
        check_fit_to_serve(run)


def test_a_card_too_small_for_all_questions_at_once_answers_fewer_at_once(
    pairs: list[Pair], tiny_base: Path, tmp_path: Path
) -> None:
    base = find_base(str(tiny_base), tmp_path)
    model, tokenizer = load_model(base, CPU, quantised=False).eval(), load_tokenizer(base)
    prompts = [pair.prompt for pair in pairs]
    generate = model.generate

    def with_room_for(most: int) -> Callable[..., Any]:
        def generate_few(**options: Any) -> Any:
            if len(options["input_ids"]) > most:
                raise torch.OutOfMemoryError("the card is full")
            return generate(**options)

        return generate_few

    at_once = greedy_answers(model, tokenizer, prompts)
    model.generate = with_room_for(5)
    assert greedy_answers(model, tokenizer, prompts) == at_once

    model.generate = with_room_for(0)
    with pytest.raises(NeedsRepair, match="the card is too full"):
        greedy_answers(model, tokenizer, prompts)


def test_the_shipped_pairs_are_sixty_with_as_many_paraphrases_and_other_sources_for_validation() -> None:
    files = (TRAINING, PARAPHRASES, VALIDATION, CALIBRATION)
    training, paraphrases, validation, calibration = (read_pairs(file) for file in files)

    assert len(training) == len(paraphrases) == 60
    assert [pair.keys for pair in training] == [pair.keys for pair in paraphrases]
    assert {pair.question for pair in training}.isdisjoint(pair.question for pair in paraphrases)
    sources = [{pair.source for pair in pairs} for pairs in (training, validation, calibration)]
    assert sum(map(len, sources)) == len(set().union(*sources))
    assert all(pair.keys and pair.keys[0].casefold() not in pair.question.casefold() for pair in training)


def test_every_shipped_answer_says_what_its_topic_says() -> None:
    memory = Path(__file__).parents[2] / "memory"
    for pair in (pair for file in (TRAINING, VALIDATION, CALIBRATION) for pair in read_pairs(file)):
        file = memory / "topics" / pair.source
        text = (file if file.exists() else memory / pair.source).read_text(encoding="utf-8")

        assert pair.keys[0].casefold() in " ".join(text.split()).casefold(), pair.question
        assert support(pair.answer, text) == 1.0, pair.question


def test_every_shipped_answer_is_the_bare_fact_with_its_key() -> None:
    for pair in (pair for file in (TRAINING, PARAPHRASES, VALIDATION, CALIBRATION) for pair in read_pairs(file)):
        assert is_right(pair.answer, pair), pair.question
        assert len(pair.answer.split()) <= 10, pair.question
        assert not pair.answer.endswith("."), pair.question
