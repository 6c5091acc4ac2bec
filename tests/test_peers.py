"""The parts of `make bench-peers` that need no peer: the job, the clock's frame, the report."""

import pytest

from benchmarks.peers import __main__ as peers_command
from benchmarks.peers import prompts
from benchmarks.peers.report import equal_share, report
from benchmarks.peers.runs import PEERS, Peer, chosen
from benchmarks.peers.worker import Job, Prompt, Timing, serve


def timing(seconds: float, texts: list[str], load_s: float = 1.0) -> Timing:
    return Timing(load_s, seconds, texts, {"torch": "2.13.0"})


@pytest.fixture
def small_job() -> Job:
    prompts = [Prompt("q1", "memory", "One?", [1, 2]), Prompt("q1", "noop", "Two?", [3])]
    return Job("folder", "bfloat16", 8, Prompt("warm-up", "", "Hello", [9]), prompts)


def test_a_job_is_read_as_it_was_written(tmp_path, small_job):
    small_job.write(tmp_path / "job.json")
    assert Job.read(tmp_path / "job.json") == small_job


def test_a_worker_answers_the_warm_up_first_and_then_every_prompt(tmp_path, small_job, monkeypatch):
    path, written = tmp_path / "job.json", tmp_path / "timing.json"
    small_job.write(path)
    calls = []

    def load(job, setting):
        assert (job, setting) == (small_job, 4)

        def generate(asked):
            calls.append([prompt.text for prompt in asked])
            return [prompt.text.upper() for prompt in asked]

        return generate

    monkeypatch.setattr("sys.argv", ["worker", str(path), str(written), "--setting", "4"])
    serve(load, ["pytest"])
    assert calls == [["Hello"], ["One?", "Two?"]]
    result = Timing.read(written)
    assert result.texts == ["ONE?", "TWO?"]
    assert result.versions == {"pytest": pytest.__version__}
    assert result.seconds >= 0 <= result.load_s


def test_the_report_shows_medians_ratios_and_equal_texts():
    timings = {
        "ours": [timing(30.0, ["a", "b"]), timing(10.0, ["a", "b"]), timing(20.0, ["a", "b"])],
        "lmeval": [timing(60.0, ["a ", "c"]), timing(80.0, ["a", "c"], load_s=3.0)],
        "vllm": [timing(16.0, ["x", "y"])],
    }
    lines = report(timings, {"lmeval": "batch size 8"}).splitlines()
    assert "| ours | 20.0 | 30.0, 10.0, 20.0 | 1.0 | torch 2.13.0 |" in lines
    assert "| lmeval (batch size 8) | 70.0 | 60.0, 80.0 | 2.0 | torch 2.13.0 |" in lines
    assert "ours / lmeval: 0.29" in lines
    assert "ours / vllm: 1.25" in lines
    assert "equal texts, ours and lmeval: 50%" in lines
    assert "equal texts, lmeval and vllm: 0%" in lines


def test_a_report_without_ours_has_no_ratios():
    assert "/ vllm" not in report({"vllm": [timing(1.0, ["a"])]}, {})


def test_texts_of_different_numbers_are_not_compared():
    with pytest.raises(ValueError, match="zip"):
        equal_share(["a"], ["a", "b"])


def test_a_peer_that_is_not_installed_is_named_with_the_way_to_install_it(monkeypatch, capsys):
    monkeypatch.setitem(PEERS, "vllm", Peer("benchmarks.peers.run_vllm", ".venv-peer-absent"))
    monkeypatch.setattr("sys.argv", ["peers", "--peers", "vllm"])
    assert peers_command.main() == 1
    assert "make .venv-peer-absent/.installed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ours,lmevel", "no peer 'lmevel': choose from ours, lmeval, vllm"),
        ("lmeval=many", "'lmeval=many': lmeval takes no such batch size"),
        ("vllm=0", "'vllm=0': vllm takes no such threads"),
        ("ours=3", "'ours=3': ours takes no such number"),
    ],
)
def test_other_words_than_peers_and_their_numbers_are_refused(words, said, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["peers", "--peers", words])
    with pytest.raises(SystemExit):
        peers_command.main()
    assert said in capsys.readouterr().err


def test_a_number_behind_a_peer_is_its_setting():
    peers = chosen("ours,lmeval=16")
    assert [(name, peer.setting) for name, peer in peers.items()] == [
        ("ours", None),
        ("lmeval", 16),
    ]


@pytest.mark.slow
def test_the_job_holds_the_prompts_of_one_arm_as_the_engine_reads_them(smollm2):
    """A change of these counts makes the figures in docs/speed.md those of another job."""
    from transformers import PreTrainedTokenizerFast

    job = prompts.job()
    assert len(job.prompts) == len({(prompt.id, prompt.condition) for prompt in job.prompts}) == 96
    assert sum(len(prompt.token_ids) for prompt in job.prompts) == 36_506
    tokenizer = PreTrainedTokenizerFast.from_pretrained(job.model)
    for prompt in [job.warm_up, *job.prompts]:
        assert tokenizer.encode(prompt.text, add_special_tokens=False) == prompt.token_ids
