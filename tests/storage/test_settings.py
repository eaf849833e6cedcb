"""Settings are stored under the keys of existing checkpoints."""

from __future__ import annotations

from dataclasses import asdict, fields

from counterplan import GuideSettings
from counterplan.agent.search import SearchSettings
from counterplan.agent.training_settings import TrainingSettings
from counterplan.planners.evolution import EvolutionSettings
from counterplan.storage.settings import settings_to_dict
from counterplan.surrogate.active_learning import LearningSettings


def test_renamed_settings_keep_their_keys() -> None:
    assert settings_to_dict(GuideSettings(min_gain=2)) == {
        "price": 2,
        "share": 0.015,
        "sure": 0.9,
        "min_chance": 0.01,
        "questions": 15,
        "steps": 460_000,
        "together": 3_200,
        "sets": {"most": 48, "beam": 8, "wide": 24, "anchors": 2, "rounds": 6, "sure": 2.2},
    }
    stored = settings_to_dict(SearchSettings())
    assert list(stored) == [
        "simulations",
        "round",
        "patience",
        "price",
        "questions",
        "again",
        "together",
        "stepwise",
        "tree",
    ]
    assert "thrift" in stored["tree"]
    assert settings_to_dict(EvolutionSettings())["together"] == 32


def test_nested_settings_are_converted_and_nothing_is_lost() -> None:
    for settings in (LearningSettings(), TrainingSettings()):
        stored, plain = settings_to_dict(settings), asdict(settings)
        assert len(stored) == len(plain) - sum(one.metadata.get("added", False) for one in fields(settings))
        assert stored["budget"] == plain["budget"]
    assert settings_to_dict(LearningSettings())["teach"]["share"] == 0.03


def test_settings_added_later_are_stored_unless_they_have_their_defaults() -> None:
    stored = settings_to_dict(TrainingSettings.preset("paper"))
    assert (stored["first_people"], stored["select_by_success"]) == (600, True)
    assert (stored["tree"]["failure_value"], stored["tree"]["forced_stop"]) == (-1.0, False)
    assert stored["network"]["numbers"] is False
    default = settings_to_dict(TrainingSettings())
    assert not {"first_people", "select_by_success"} & default.keys()
    assert not {"failure_value", "forced_stop"} & default["tree"].keys()
    assert not {"numbers"} & default["network"].keys()
