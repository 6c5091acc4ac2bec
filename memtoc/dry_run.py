"""What an arm would do, without loading weights: its prompts, counts and size in tokens."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from harness.completions import Request
from harness.rendering import Renderer
from harness.terminal import printable, say
from memtoc.arm import Arm
from memtoc.episodes import Episode, episodes, memory_request

CHARACTERS_A_TOKEN = 4  # of English text, where no tokenizer is at hand


def dry_run(arm: Arm, console: Console) -> None:
    """Print the first prompt of each condition as the model reads it, and the counts."""
    renderer = None
    if arm.checkpoint is not None:
        renderer = Renderer(arm.settings.model, arm.checkpoint.folder)
    rows = episodes(arm.settings, arm.questions)
    say(console, f"arm {arm.run.name}")
    if arm.settings.engine.reads_weights and arm.checkpoint is None:
        say(console, f"model '{arm.settings.model.name}' is not here: prompts without its template")
    _show(console, "memory (closed book)", memory_request(arm.settings, arm.questions[0]), renderer)
    for condition in arm.settings.conditions:
        first = next((row for row in rows if row.condition == condition), None)
        if first is not None and condition != "no_tool":
            _show(console, f"{condition} ({first.question.id})", first.request, renderer)
    _summary(console, arm, rows, renderer)


def _show(console: Console, title: str, request: Request, renderer: Renderer | None) -> None:
    console.rule(title, style="dim")
    say(console, printable(_text(request, renderer), keep="\n\t"))


def _summary(
    console: Console, arm: Arm, rows: Sequence[Episode], renderer: Renderer | None
) -> None:
    memories = [memory_request(arm.settings, question) for question in arm.questions]
    requests = {request.digest: request for request in [*memories, *(row.request for row in rows)]}
    counts = Counter(row.condition for row in rows)
    tokens = sum(_tokens(request, renderer) for request in requests.values())
    new = len(requests) * arm.settings.decoding.max_new_tokens
    console.rule(style="dim")
    listed = ", ".join(f"{count} {condition}" for condition, count in counts.items())
    say(console, f"{len(arm.questions)} questions, {len(rows)} rows: {listed}")
    about = "" if renderer else f" (estimated at {CHARACTERS_A_TOKEN} characters a token)"
    say(
        console,
        f"{len(requests)} distinct prompts, {tokens} prompt tokens{about}, at most {new} new ones",
    )


def _text(request: Request, renderer: Renderer | None) -> str:
    if renderer:
        return renderer.text(request.messages)
    return "\n\n".join(message.content for message in request.messages)


def _tokens(request: Request, renderer: Renderer | None) -> int:
    if renderer:
        return len(renderer.token_ids(request.messages))
    return len(_text(request, None)) // CHARACTERS_A_TOKEN
