"""Check the environment against what the original gave; show and regrade dialogues.

    python -m factored.taubench golden FILE --data DIR [--json]
    python -m factored.taubench replay FILE --domain airline --data DIR [--province-rename] [--json]
    python -m factored.taubench regrade FILE --domain airline --data DIR [--out NEW]
    python -m factored.taubench show FILE [--task 3] [--trial 0]
    python -m factored.taubench truth --domain retail --split tau2 --data DIR

Exit code 0: all equal (or regraded, shown); 1: differences; 2: a mistake of yours.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn, TextIO

from factored.taubench.loading import DOMAINS, data_folder, load_domain, read_json
from factored.taubench.recordings import has_province, read_recordings
from factored.taubench.regrade import regrade
from factored.taubench.replay import Comparison, compare_golden, compare_recording
from factored.taubench.truth import ground_truth_answers
from harness.errors import UserError, one_of
from harness.files import write_json
from harness.terminal import printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    options = _parser().parse_args(arguments)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            code: int = options.run(options)
        except UserError as error:
            _say(f"error: {error}", sys.stderr)
            code = 2
    for warning in caught:
        _say(f"warning: {warning.message}", sys.stderr)
    return code


def _say(line: str, out: TextIO) -> None:
    """Write one line, without what a file may bring along to break it or steer the terminal."""
    out.write(f"{printable(line)}\n")


def golden(options: argparse.Namespace) -> int:
    """Compare call sequences; return 1 where any value differs."""
    load = partial(
        load_domain, path=data_folder(options.data, "--data DIR"), province=options.province_rename
    )
    return _report(compare_golden(options.file, load), options.json)


def replay(options: argparse.Namespace) -> int:
    """Compare recorded dialogues; return 1 where any value differs."""
    loaded = load_domain(
        options.domain, data_folder(options.data, "--data DIR"), options.province_rename
    )
    recordings, left_out = read_recordings(options.file)
    for line in left_out:
        warnings.warn(line, stacklevel=1)
    comparison = Comparison()
    for recording in recordings:
        comparison.add(compare_recording(loaded, recording))
    if comparison.differences and not options.province_rename and has_province(recordings):
        warnings.warn(
            "the recording has addresses with 'province': --province-rename", stacklevel=1
        )
    return _report(comparison, options.json)


def grade_again(options: argparse.Namespace) -> int:
    """Regrade stored dialogues, print the changes and write the new file where one is named."""
    loaded = load_domain(
        options.domain, data_folder(options.data, "--data DIR"), options.province_rename
    )
    regraded, left_out = regrade(options.file, loaded, options.split, options.recorded_tasks)
    for line in left_out:
        warnings.warn(line, stacklevel=1)
    changed = [one for one in regraded if one.before != one.after]
    for one in [] if options.json else changed:
        _say(f"{one.where}: reward {one.before} becomes {one.after}", sys.stdout)
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
        _say(json.dumps(counts), sys.stdout)
    else:
        words = f"{len(regraded)} dialogues: {before} successes before, {after} now"
        _say(f"{words}, {len(changed)} rewards changed", sys.stdout)
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
    loaded = load_domain(options.domain, data_folder(options.data, "--data DIR"))
    if options.split not in loaded.tasks:
        raise UserError(f"--split {options.split}: {one_of(loaded.tasks, options.split)}")
    tasks = loaded.tasks[options.split]
    answers = list(ground_truth_answers(loaded, tasks))
    failed = [answer for answer in answers if answer.failed]
    for one in failed:
        kind = "write" if one.writes else "read"
        arguments = json.dumps(dict(one.action.kwargs), ensure_ascii=False)
        _say(f"task {one.task}: {kind} {one.action.name} {arguments}: {one.text}", sys.stdout)
    writes = sum(answer.writes for answer in failed)
    counts = f"{len(answers)} actions of {len(tasks)} tasks"
    _say(f"{counts}: {len(failed)} answered with an error, {writes} of these writes", sys.stdout)
    return 0


def _report(comparison: Comparison, as_json: bool) -> int:
    """Print counts and differences, and return the exit code.

    With ``as_json`` the counts alone go to standard output, the differences to standard error.
    """
    out = sys.stderr if as_json else sys.stdout
    for line in comparison.lines:
        _say(line, out)
    hidden = comparison.differences - len(comparison.lines)
    if hidden:
        _say(f"... and {hidden} more differences", out)
    if as_json:
        _say(json.dumps(comparison.as_row()), sys.stdout)
    else:
        for kind, count in comparison.as_row().items():
            _say(f"{kind:>12}  {count['equal']:>6,} of {count['total']:,} equal", out)
    return 1 if comparison.differences else 0


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
    command = commands.add_parser("golden", parents=[compared], help="compare call sequences")
    command.set_defaults(run=golden)
    command = commands.add_parser("replay", parents=[compared], help="compare recorded dialogues")
    command.add_argument("--domain", required=True, choices=sorted(DOMAINS))
    command.set_defaults(run=replay)
    command = commands.add_parser(
        "regrade", parents=[compared], help="new rewards for stored dialogues"
    )
    command.add_argument("--domain", required=True, choices=sorted(DOMAINS))
    command.add_argument("--split", default="test", metavar="NAME")
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
    sys.exit(main())
