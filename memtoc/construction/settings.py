"""The settings of a build, as frozen dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from harness.errors import UserError, one_of
from harness.settings import parse
from harness.validators import Filled
from memtoc.construction.wikidata import WikidataSettings
from memtoc.sources import BenchmarkSpec

STAGES = ("screen", "distract", "author", "check", "review", "fold", "write")


@dataclass(frozen=True, kw_only=True)
class FromWikidata(WikidataSettings):
    """Take wrong entities from Wikidata, and other names of the golds."""

    name: Literal["wikidata"]
    aliases: Literal["sought", "all"]


@dataclass(frozen=True)
class FromPeople:
    """Leave wrong entities to people."""

    name: Literal["authored"]


@dataclass(frozen=True)
class NamedFolds:
    """Draw even folds (``seeded``), or take those of the source (``published``)."""

    name: Literal["seeded", "published"]


@dataclass(frozen=True)
class FileFolds:
    """Take the folds of a csv of id and fold."""

    name: Literal["file"]
    path: str


@dataclass(frozen=True)
class BuildPaths:
    """Folders of the benchmarks and of fetched files."""

    benchmarks: str
    cache: str


@dataclass(frozen=True)
class BuildSettings:
    """One build; conf/build.yaml explains each setting."""

    task: Literal["build"]
    benchmark: BenchmarkSpec
    distractors: Annotated[FromWikidata | FromPeople, Field(discriminator="name")]
    folds: Annotated[NamedFolds | FileFolds, Field(discriminator="name")]
    stages: tuple[str, ...]
    seed: Annotated[int, Field(ge=0)]
    last_year: int
    strict: bool
    redraw_temporal: bool
    apply_repairs: bool
    out: Filled
    paths: BuildPaths


def build_settings(config: Mapping[str, Any]) -> BuildSettings:
    """Validate a resolved config; each UserError names the key and a value that would do."""
    settings = parse(BuildSettings, config)
    for name in settings.stages:
        if name not in STAGES:
            raise UserError(f"stages: unknown stage '{name}': {one_of(STAGES, name)}")
    if not settings.stages:
        raise UserError(f"stages is empty: name some of {', '.join(STAGES)}")
    # last_year is a setting, so that a rebuild next year gives the same bytes; the clock bounds it.
    this_year = datetime.now(UTC).year
    if not 1000 <= settings.last_year <= this_year:
        raise UserError(f"last_year={settings.last_year}: give a year from 1000 to {this_year}")
    return settings
