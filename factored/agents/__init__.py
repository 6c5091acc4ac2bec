"""Agent kinds: how a planner is told of the tools, how it writes an action, how that is read.

All kinds go through the one loop of ``factored.episode``; each is a form that its file in
conf/agent fills in. ``factored`` is the one that asks a tool agent for the call, ``native_api``
the one that sends the tools beside the messages.
"""

from typing import Annotated

from pydantic import Field

from factored.agents.act import ActForm
from factored.agents.factored import FactoredForm
from factored.agents.faep import FaepForm
from factored.agents.forms import Ask, Form, Reading, Say, WrittenCall
from factored.agents.native import NativeApiForm, NativeForm, read_calls
from factored.agents.react import ReactForm

AgentSpec = Annotated[
    FactoredForm | FaepForm | NativeForm | NativeApiForm | ReactForm | ActForm,
    Field(discriminator="kind"),
]

__all__ = [
    "AgentSpec",
    "Ask",
    "Form",
    "NativeApiForm",
    "Reading",
    "Say",
    "WrittenCall",
    "read_calls",
]
