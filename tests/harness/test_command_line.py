import pytest

from harness.command_line import read_command_line
from harness.errors import UserError

CONFIGS = {"evaluate": "evaluate", "merge": "merge", "taubench": "taubench_of_ours"}


@pytest.mark.parametrize(
    ("arguments", "config", "flags"),
    [
        (["limit=2"], "evaluate", ()),
        (["--config-name=evaluate"], "evaluate", ()),
        (["--config-name=merge.yaml", "limit=2"], "merge", ("--config-name=merge",)),
        (["limit=2", "-cn", "taubench"], "taubench_of_ours", ("--config-name=taubench",)),
        (["--config-dir", "mine", "limit=2"], "evaluate", ("--config-dir=mine",)),
        (["-cn=merge", "-cd=a b"], "merge", ("--config-name=merge", "--config-dir=a b")),
    ],
)
def test_the_config_and_the_flags_that_repeat_it(arguments, config, flags):
    asked = read_command_line(arguments, CONFIGS)
    assert (asked.config, asked.flags) == (config, flags)


def test_flags_come_before_overrides_and_those_keep_their_order():
    asked = read_command_line(["b=1", "-m", "a=2", "--cfg=job", "--config-dir", "x"], CONFIGS)
    assert asked.arguments == ("--config-dir=x", "-m", "--cfg=job", "b=1", "a=2")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--config-name=mergee"], "did you mean 'merge'?"),
        (["--config-name=xyz"], "choose one of: evaluate, merge, taubench"),
        (["--config-name"], "expected one argument"),
        (["task=taubench"], "choose one of: --config-name=evaluate"),
        (["~task"], "task is set by the config"),
        (["++task=merge"], "task is set by the config"),
    ],
)
def test_what_no_config_here_is_refused(arguments, words):
    with pytest.raises(UserError) as refused:
        read_command_line(arguments, CONFIGS)
    assert words in str(refused.value)
