"""The model card shows settings by their names in Python, although files have other keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from counterplan.agent import NetworkConfig, SearchSettings
from counterplan.distillation.demonstrations import DemonstrationSettings
from counterplan.distillation.imitation import ImitationSettings
from counterplan.distillation.policy_search import PolicySearchSettings
from counterplan.distillation.scorecard_distiller import ScorecardOptions
from counterplan.program.model_card import ModelCard
from counterplan.program.model_card_text import SETTING_NAMES, card_text
from counterplan.storage.settings import settings_to_dict

GROUPS = {
    "teaching": DemonstrationSettings(),
    "distilling": PolicySearchSettings(),
    "search": SearchSettings(),
    "agent": NetworkConfig(),
    "imitating": ImitationSettings(),
    "settings": ScorecardOptions(),
}


def names_of(settings: Any) -> Iterator[tuple[str, str]]:
    """The key in files and the name in Python of every setting, also of those inside."""
    for field in fields(settings):
        yield field.metadata.get("key", field.name), field.name
        if is_dataclass(inner := getattr(settings, field.name)):
            yield from names_of(inner)


@pytest.mark.parametrize("group", GROUPS)
def test_every_key_that_differs_has_its_name(group: str) -> None:
    assert SETTING_NAMES[group] == {key: name for key, name in names_of(GROUPS[group]) if key != name}


def test_the_card_shows_names_of_python() -> None:
    made_with = {"method": "policy search"} | {key: settings_to_dict(settings) for key, settings in GROUPS.items()}
    card = ModelCard(made_with=made_with)
    shown = card_text(card).replace(",", " ").replace(":", " ").split()
    for settings in GROUPS.values():
        stored = settings_to_dict(settings)
        for key, name in names_of(settings):
            assert name in shown or key not in stored
    assert not {"pupils", "careful", "hope", "contenders", "foresight", "barred", "barred_weight"} & {*shown}
    assert card.to_data()["made_with"] == made_with, "the keys of files are unchanged"


def test_settings_of_another_form_are_shown_as_they_are() -> None:
    for made_with in ({"distilling": 3}, {"distilling": {"careful": {"rows": 1}}}, {"teaching": ["a"]}):
        assert card_text(ModelCard(made_with=made_with)).startswith("made with")
