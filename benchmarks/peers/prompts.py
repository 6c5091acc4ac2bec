"""The prompts that every peer answers: one arm's memory pass and its tool conditions."""

from functools import cache
from pathlib import Path

from benchmarks.peers.worker import Job, Prompt
from harness.completions import Message, Request
from harness.rendering import Renderer
from harness.settings import resolve
from memtoc import rules
from memtoc.arm import Arm, prepare
from memtoc.episodes import episodes, memory_request
from memtoc.settings import arm_settings

ROOT = Path(__file__).parent.parent.parent
DTYPE = "bfloat16"
MAX_NEW_TOKENS = 64
OVERRIDES = (
    "limit=16",
    "tracker=none",
    "engine.device=cpu",
    f"engine.dtype={DTYPE}",
    f"decoding.max_new_tokens={MAX_NEW_TOKENS}",
    f"paths.cache={ROOT / '.cache'}",
)


@cache
def arm() -> Arm:
    """The arm of ``python evaluate.py limit=16`` with shorter replies; loads no weights."""
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        plan = rules.plan(resolve(compose("evaluate", list(OVERRIDES))))
    return prepare(arm_settings(plan.config), plan.config)


def requests() -> dict[tuple[str, str], Request]:
    """Requests by question and condition; ``no_tool`` is left out, for it asks the memory again."""
    settings, questions = arm().settings, arm().questions
    asked = {(question.id, "memory"): memory_request(settings, question) for question in questions}
    for row in episodes(settings, questions):
        if row.condition != "no_tool":
            asked[row.question.id, row.condition] = row.request
    return asked


def warm_up() -> Request:
    """A request that shares no more with the others than what the chat template writes."""
    return Request((Message("user", "Hello."),), arm().settings.decoding)


def job() -> Job:
    """The requests as text and as the token ids that our engine gives its model."""
    checkpoint = arm().checkpoint
    assert checkpoint is not None
    renderer = Renderer(arm().settings.model, checkpoint.folder)
    prompts = [_prompt(renderer, *key, request) for key, request in requests().items()]
    greeting = _prompt(renderer, "warm-up", "", warm_up())
    return Job(str(checkpoint.folder), DTYPE, MAX_NEW_TOKENS, greeting, prompts)


def _prompt(renderer: Renderer, name: str, condition: str, request: Request) -> Prompt:
    text, ids = renderer.text(request.messages), renderer.token_ids(request.messages)
    return Prompt(name, condition, text, ids)
