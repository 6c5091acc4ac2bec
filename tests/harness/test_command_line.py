import pytest

from harness.command_line import read_command_line
from harness.errors import UserError
from harness.overrides import check_overrides, repeated

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
        (["--config-name=xyz"], "the configs are evaluate, merge, taubench"),
        (["--multirn", "seed=1"], "--multirn: no such flag: did you mean '--multirun'?"),
        (["--config-nam=merge"], "did you mean '--config-name'?"),
        (["-config-nam", "merge"], "did you mean '--config-name'?"),
        (["-x"], "-x: no such flag: the flags are --cfg, "),
        (["--limit=3"], "a setting is written without dashes: limit=3"),
        (["--limit", "3"], "a setting is written without dashes: limit=VALUE"),
        (["--dry_run=true"], "--dry_run: no such flag: a setting is written without dashes: dry"),
        (["--dry-run"], "a setting is written without dashes: dry_run=VALUE"),
        (["a=[b,", "c]"], "'a=[b, c]': a list is one argument: write 'a=[b,c]', in quotes"),
        (["--config-path=conf"], "add a folder of yours with --config-dir"),
        (["--experimental-rerun", "x"], "run the same command again"),
        (["--cfg", "jb"], "invalid choice: 'jb'"),
        (["--package", "model"], "add --cfg job"),
        (["limit", "=", "3"], "'limit = 3': write limit=3, without spaces"),
        (["limit", "=3"], "'limit =3': write limit=3, without spaces"),
        (["limit=", "3"], "'limit= 3': write limit=3, without spaces"),
        (["model", "qwen"], "a setting is written model=qwen"),
        (["limit:3"], "a setting is written with '=': limit=3"),
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


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["--cfg", "job", "limit=2", "-p", "model"], ("--cfg=job", "--package=model", "limit=2")),
        (["limit=2", "--info", "seed=1"], ("--info=all", "limit=2", "seed=1")),
        (["~benchmark.limit", "+a=1", "++b= x "], ("~benchmark.limit", "+a=1", "++b= x ")),
        (["model@planner.model=qwen", "k.a=[1,2]"], ("model@planner.model=qwen", "k.a=[1,2]")),
    ],
)
def test_what_hydra_takes_reaches_it(arguments, given):
    assert read_command_line(arguments, CONFIGS).arguments == given


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["planner.engine.kind=mock"], "write engine@planner.engine=mock"),
        (["-m", "frame.name=tool,passage"], "write frame=tool,passage"),
        (["hydra.sweep.dir=x"], "paths.runs"),
        (["hydra.job.chdir=true"], "relative to the folder"),
    ],
)
def test_an_override_that_would_change_nothing_it_names_is_refused(overrides, words):
    with pytest.raises(UserError) as refused:
        check_overrides([override for override in overrides if override != "-m"])
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "overrides",
    [
        ["model.name=mine"],
        ["model.name=qwen", "model.path=/checkpoints/qwen"],
        ["hydra/launcher=ray", "hydra.launcher.ray.remote.num_gpus=1", "hydra.job.name=x"],
        ["hydra.mode=MULTIRUN", "mitigation=warn", "seed=1,2"],
    ],
)
def test_other_overrides_pass(overrides):
    check_overrides(overrides)


def test_a_setting_that_is_given_twice_is_noted():
    given = ["model=qwen", "limit=3", "model=gemma", "limit=3", "+a=1"]
    assert repeated(given) == ["model is given twice: model=gemma counts, model=qwen does not"]
