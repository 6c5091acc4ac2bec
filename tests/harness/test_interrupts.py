"""Signals at a running command: one line, the right exit code, nothing of it left behind."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.arms import command, command_environment, command_line, finished, hear_ctrl_c

ADVICE = "interrupted: run the same command again to go on"
ARM = ("engine=mock", "tracker=none", "limit=null")


def wait_for_rows(process: "subprocess.Popen[str]", home: Path) -> None:
    """Waits until the run has written its first folder."""
    while not any(home.glob("memories/*/manifest.json")):
        assert process.poll() is None
        time.sleep(0.002)


def started(home: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command_line(*ARM, *arguments), cwd=home, env=command_environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=hear_ctrl_c,  # noqa: PLW1509
    )  # fmt: skip


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_run_with_one_line_and_leaves_no_process(
    tmp_path: Path, number: int, code: int, times: int
):
    process = started(tmp_path)
    wait_for_rows(process, tmp_path)
    for _ in range(times):
        process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert [line for line in errors.splitlines() if " done, " not in line] == [ADVICE]
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_what_an_interrupted_run_had_finished_is_kept(tmp_path: Path):
    process = started(tmp_path)
    wait_for_rows(process, tmp_path)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert command(*ARM, cwd=tmp_path).returncode == 0
    assert len(list(tmp_path.glob("runs/*/DONE"))) == 1


def test_a_closed_terminal_ends_a_run_with_129(tmp_path: Path):
    """The terminal is gone: what is still written to it would be an error."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        line = command_line(*ARM)
        os.execve(line[0], line, command_environment())
    while not any(tmp_path.glob("memories/*/manifest.json")):
        os.read(terminal, 1024)  # a terminal that nobody reads fills up, and its writer waits
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 129


SCRIPT = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from harness.interrupts import raise_on_signals
if "ignored" in sys.argv:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
raise_on_signals()

class Closing:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        len("the handler runs here")

try:
    if "ignored" in sys.argv:
        os.kill(os.getpid(), signal.SIGHUP)
        print("went on")
    else:
        Closing()
        signal.pause()
except KeyboardInterrupt as stop:
    print("raised", stop.number)
"""


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[2])
    return finished([sys.executable, "-c", SCRIPT, root, *arguments])


def test_an_interrupt_inside_of_a_destructor_is_not_lost():
    ended = script()
    assert (ended.stdout.strip(), ended.stderr) == ("raised 15", "")


def test_a_signal_that_nohup_ignores_stays_ignored():
    assert script("ignored").stdout.strip() == "went on"
