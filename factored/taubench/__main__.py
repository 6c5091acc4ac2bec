"""Check the environment against what the original gave; show and regrade dialogues.

    python -m factored.taubench golden FILE --data DIR [--json]
    python -m factored.taubench replay FILE --domain airline --data DIR [--province-rename] [--json]
    python -m factored.taubench regrade FILE --domain airline --data DIR [--out NEW]
    python -m factored.taubench show FILE [--task 3] [--trial 0]
    python -m factored.taubench truth --domain retail --split tau2 --data DIR

The embedded domain needs no `--data`, nor does any where TAUBENCH_PATH is set; the results.json of
a run of ours needs no `--domain`. Exit code 0: no difference is the environment's (or regraded,
shown); 1: some are; 2: a mistake of yours.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from factored.taubench.environment import LoadedDomain
from factored.taubench.loading import DOMAINS, data_for, domain_named, load_domain, read_json
from factored.taubench.recordings import RESULTS, has_province, read_recordings, run_domain
from factored.taubench.regrade import regrade
from factored.taubench.replay import compare_golden, compare_recordings
from factored.taubench.report import DIFFERENCES, report, say
from factored.taubench.truth import ground_truth_answers
from harness.errors import UserError, one_of
from harness.files import write_json
from harness.interrupts import end_on_signals


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    options = _parser().parse_args(arguments)
    if "file" in options and options.file.is_dir():
        options.file /= RESULTS
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            code: int = options.run(options)
        except UserError as error:
            say(f"error: {error}", sys.stderr)
            code = 2
    for warning in caught:
        say(f"warning: {warning.message}", sys.stderr)
    return code


def _loaded(options: argparse.Namespace) -> LoadedDomain:
    """Load the domain that is named, or that of the run of ours which a result file belongs to."""
    own = run_domain(options.file)
    name = options.domain or own.get("name")
    if name is None:
        raise UserError(f"{options.file}: whose is it? Name it, as in --domain retail")
    if own.get("name") not in (None, name):
        raise UserError(f"--domain {name}: {options.file} is of a run of domain={own['name']}")
    province = options.province_rename or own.get("province") is True
    return load_domain(name, data_for(name, options.data, "--data DIR"), province)


def golden(options: argparse.Namespace) -> int:
    """Compare call sequences; return 1 where any value differs."""

    def load(name: str) -> LoadedDomain:
        folder = data_for(domain_named(name).name, options.data, "--data DIR")
        return load_domain(name, folder, options.province_rename)

    return report(compare_golden(options.file, load), options.json, options.differences)


def replay(options: argparse.Namespace) -> int:
    """Compare recorded dialogues; return 1 where any value differs."""
    loaded = _loaded(options)
    recordings, left_out = read_recordings(options.file)
    for line in left_out:
        warnings.warn(line, stacklevel=1)
    comparison = compare_recordings(loaded, recordings)
    if comparison.faults and not options.province_rename and has_province(recordings):
        warnings.warn(
            "the recording has addresses with 'province': --province-rename", stacklevel=1
        )
    return report(comparison, options.json, options.differences)


def grade_again(options: argparse.Namespace) -> int:
    """Regrade stored dialogues, print the changes and write the new file where one is named."""
    loaded = _loaded(options)
    split = options.split or run_domain(options.file).get("split", "test")
    regraded, left_out = regrade(options.file, loaded, split, options.recorded_tasks)
    for line in left_out:
        warnings.warn(line, stacklevel=1)
    changed = [one for one in regraded if one.before != one.after]
    for one in [] if options.json else changed:
        say(f"{one.where}: reward {one.before} becomes {one.after}")
    before = sum((one.before or 0.0) == 1.0 for one in regraded)
    after = sum(one.after == 1.0 for one in regraded)
    counts = {
        "dialogues": len(regraded),
        "successes_before": before,
        "successes": after,
        "changed": len(changed),
    }
    if options.out is not None:
        write_json(options.out, [one.record for one in regraded])
    if options.json:
        say(json.dumps(counts))
    else:
        words = f"{len(regraded)} dialogues: {before} successes before, {after} now"
        say(f"{words}, {len(changed)} rewards changed")
    return 0


def show(options: argparse.Namespace) -> int:
    """Show the dialogues of a task or trial; raises UserError where there is none."""
    from rich.console import Console

    from factored.show import show_dialogue

    records = read_json(options.file)
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise UserError(f"{options.file}: must be a list of recorded dialogues")
    wanted = [
        one
        for one in records
        if options.task in (None, one.get("task_id")) and options.trial in (None, one.get("trial"))
    ]
    if not wanted:
        raise UserError(f"{options.file}: holds no such dialogue: leave out --task or --trial")
    for record in wanted:
        try:
            show_dialogue(record, Console())
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{options.file}: task {record.get('task_id')} cannot be read ({error!r})"
            ) from error
    return 0


def truth(options: argparse.Namespace) -> int:
    """Run every task's own actions and print those that are answered with an error."""
    loaded = load_domain(options.domain, data_for(options.domain, options.data, "--data DIR"))
    if options.split not in loaded.tasks:
        raise UserError(f"--split {options.split}: {one_of(loaded.tasks, options.split)}")
    tasks = loaded.tasks[options.split]
    answers = list(ground_truth_answers(loaded, tasks))
    failed = [answer for answer in answers if answer.failed]
    for one in failed:
        kind = "write" if one.writes else "read"
        arguments = json.dumps(dict(one.action.kwargs), ensure_ascii=False)
        say(f"task {one.task}: {kind} {one.action.name} {arguments}: {one.text}")
    writes = sum(answer.writes for answer in failed)
    counts = f"{len(answers)} actions of {len(tasks)} tasks"
    say(f"{counts}: {len(failed)} answered with an error, {writes} of these writes")
    return 0


class _OneLineParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; see --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _OneLineParser(prog="python -m factored.taubench", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    compared = _OneLineParser(add_help=False)
    compared.add_argument("file", type=Path, metavar="FILE")
    compared.add_argument("--data", metavar="DIR", help="the data folder (else TAUBENCH_PATH)")
    compared.add_argument("--json", action="store_true", help="print the counts as JSON")
    compared.add_argument(
        "--province-rename",
        action="store_true",
        help="for recordings from before 2025-01-16: users' addresses have 'province', not 'state'",
    )
    listed = _OneLineParser(add_help=False)
    listed.add_argument(
        "--differences",
        type=Path,
        default=DIFFERENCES,
        metavar="NEW",
        help=f"where all differences go ({DIFFERENCES})",
    )
    command = commands.add_parser(
        "golden", parents=[compared, listed], help="compare call sequences"
    )
    command.set_defaults(run=golden)
    command = commands.add_parser(
        "replay", parents=[compared, listed], help="compare recorded dialogues"
    )
    command.add_argument("--domain", choices=sorted(DOMAINS))
    command.set_defaults(run=replay)
    command = commands.add_parser(
        "regrade", parents=[compared], help="new rewards for stored dialogues"
    )
    command.add_argument("--domain", choices=sorted(DOMAINS))
    command.add_argument("--split", metavar="NAME", help="of the data's tasks (test)")
    command.add_argument(
        "--recorded-tasks", action="store_true", help="score by the recorded tasks, not the data's"
    )
    command.add_argument("--out", type=Path, metavar="NEW", help="write the regraded file")
    command.set_defaults(run=grade_again)
    command = commands.add_parser("show", help="show dialogues of a result file")
    command.add_argument("file", type=Path, metavar="FILE")
    command.add_argument("--task", type=int, metavar="ID")
    command.add_argument("--trial", type=int, metavar="N")
    command.set_defaults(run=show)
    command = commands.add_parser("truth", help="run every task's own actions")
    command.add_argument("--domain", required=True, choices=sorted(DOMAINS))
    command.add_argument("--split", default="test", metavar="NAME")
    command.add_argument("--data", metavar="DIR", help="the data folder (else TAUBENCH_PATH)")
    command.set_defaults(run=truth)
    return parser


if __name__ == "__main__":
    end_on_signals()
    sys.exit(main())
