"""The governance config: every setting documented, checked, named when wrong, and whole in a turn record."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

import pytest

from governance.config import PRESETS, ConfigError, GovernanceConfig, parse_setting, preset
from retrieval.config import SettingStage, setting

DEFAULT = GovernanceConfig()
FIELDS = dataclasses.fields(GovernanceConfig)


class TestSettings:
    @pytest.mark.parametrize("item", FIELDS, ids=lambda item: item.name)
    def test_every_setting_has_help_and_a_default_in_its_range(self, item: dataclasses.Field[Any]) -> None:
        assert item.metadata["help"].endswith(".")
        if isinstance(item.default, int | float) and not isinstance(item.default, bool):
            assert item.metadata["low"] <= item.default <= item.metadata["high"]

    @pytest.mark.parametrize("item", FIELDS, ids=lambda item: item.name)
    def test_every_setting_says_where_it_belongs(self, item: dataclasses.Field[Any]) -> None:
        assert item.metadata["stage"] in get_args(SettingStage)
        assert item.metadata["group"].strip()

    def test_every_stage_has_a_setting(self) -> None:
        assert {item.metadata["stage"] for item in FIELDS} == set(get_args(SettingStage))

    @pytest.mark.parametrize(
        ("key", "place"),
        [
            ("instructions_enabled", ("recognise", "Standing instructions")),
            ("bm25_k1", ("retrieve", "BM25")),
            ("gate_item", ("govern", "Relevance gate")),
            ("history_lambda_hours", ("govern", "Weight of time")),
            ("window_rounds", ("prompt", "Context window")),
            ("repair_attempts", ("protocol", "Repair")),
            ("admit_fallback", ("admit", "Admission to memory")),
        ],
    )
    def test_settings_are_grouped_as_the_turn_runs(self, key: str, place: tuple[str, str]) -> None:
        (item,) = (item for item in FIELDS if item.name == key)
        assert (item.metadata["stage"], item.metadata["group"]) == place

    def test_a_setting_must_be_given_its_group(self) -> None:
        with pytest.raises(TypeError, match="group"):
            setting(1, "A setting nobody placed.")  # type: ignore[call-arg]

    @pytest.mark.parametrize(
        ("key", "near"),
        [
            ("histroy_k", "history_k"),
            ("gate_enable", "gate_enabled"),
            ("bm25_k", "bm25_k1"),
            ("knowledge_flor", "knowledge_floor"),
        ],
    )
    def test_an_unknown_key_names_the_nearest(self, key: str, near: str) -> None:
        with pytest.raises(ConfigError, match=rf"unknown setting '{key}'; did you mean '{near}'\?"):
            DEFAULT.changed({key: 1})

    def test_a_key_near_to_nothing_is_just_unknown(self) -> None:
        with pytest.raises(ConfigError, match=r"^unknown setting 'zzz'$"):
            DEFAULT.changed({"zzz": 1})

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("history_k", 51, "history_k must be between 0 and 50; got 51"),
            ("history_k", -1, "between"),
            ("history_k", 2.5, "history_k must be of type int; got 2.5"),
            ("history_k", True, "must be of type int"),
            ("history_k", "3", "must be of type int"),
            ("history_floor", 1.5, "history_floor must be between 0.0 and 1.0; got 1.5"),
            ("history_floor", float("nan"), "between"),
            ("history_lambda_hours", float("inf"), "between"),
            ("history_lambda_round", 0, "between 0.1"),
            ("history_floor", False, "must be of type float"),
            ("history_floor", None, "must be of type float"),
            ("gate_enabled", 1, "gate_enabled must be of type bool; got 1"),
            ("gate_enabled", "yes", "must be of type bool"),
            ("experience_base", "vibes", "experience_base must be one of fused, cosine; got 'vibes'"),
            ("policy", "", "policy must be one of"),
        ],
    )
    def test_a_wrong_value_is_refused_with_what_is_allowed(self, key: str, value: object, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            DEFAULT.changed({key: value})

    def test_a_whole_number_will_do_for_a_real_one(self) -> None:
        assert DEFAULT.changed({"history_floor": 1}).history_floor == 1

    def test_a_config_is_frozen(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            DEFAULT.history_k = 3  # type: ignore[misc]


class TestRecord:
    @pytest.mark.parametrize("name", PRESETS)
    def test_a_config_survives_its_way_through_json(self, name: str) -> None:
        config = preset(name)
        written = json.dumps(config.as_dict(), allow_nan=False)
        assert GovernanceConfig().changed(json.loads(written)) == config

    def test_differences_are_the_intervention(self) -> None:
        changed = DEFAULT.changed({"history_k": 3, "gate_enabled": True})
        assert DEFAULT.differences(changed) == {"history_k": {"from": DEFAULT.history_k, "to": 3}}
        assert DEFAULT.differences(DEFAULT) == {}
        undone = {key: change["from"] for key, change in DEFAULT.differences(changed).items()}
        assert changed.changed(undone) == DEFAULT


class TestPresets:
    def test_the_paper_has_the_published_constants(self) -> None:
        paper = preset("paper")
        published = {
            "knowledge_k": 5,
            "history_k": 10,
            "final_threshold": 0.5,
            "knowledge_rrf_k": 60.0,
            "bm25_k1": 1.5,
            "bm25_b": 0.75,
            "bm25_delta": 0.5,
            "knowledge_lambda_round": 20.0,
            "knowledge_lambda_hours": 168.0,
            "knowledge_floor": 0.0,
            "history_lambda_round": 20.0,
            "history_lambda_hours": 168.0,
            "history_floor": 0.0,
            "experience_base": "cosine",
            "history_bm25_enabled": False,
            "bm25_enabled": True,
            "role_prefix": True,
            "knowledge_bonus_user": 0.08,
            "knowledge_bonus_character": 0.08,
            "knowledge_bonus_source": 0.05,
            "history_bonus_session": 0.15,
            "history_bonus_user": 0.10,
            "history_bonus_user_text": 0.04,
            "history_bonus_character": 0.10,
            "history_bonus_character_text": 0.04,
        }
        assert {key: paper.as_dict()[key] for key in published} == published

    @pytest.mark.parametrize(
        ("name", "off"),
        [
            ("B", {"knowledge_enabled"}),
            ("C", {"history_enabled"}),
            ("D", {"temporal_enabled"}),
            ("E", {"bm25_enabled", "history_bm25_enabled"}),
            ("F", {"repair_enabled"}),
            ("G", {"knowledge_enabled", "history_enabled", "instructions_enabled", "protocol_enabled"}),
        ],
    )
    def test_each_ablation_group_switches_off_what_it_says(self, name: str, off: set[str]) -> None:
        differences = preset("A").differences(preset(name))
        assert {key: change["to"] for key, change in differences.items()} == dict.fromkeys(off, False)

    def test_every_preset_says_what_it_is_for(self) -> None:
        assert all(item.name == name and item.help.endswith(".") for name, item in PRESETS.items())

    def test_an_unknown_preset_names_those_there_are(self) -> None:
        with pytest.raises(ConfigError, match="unknown preset 'X'; there are default, paper, A"):
            preset("X")


class TestCommandLine:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("history_k=3", ("history_k", 3)),
            (" history_floor = 0.5 ", ("history_floor", 0.5)),
            ("gate_enabled=off", ("gate_enabled", False)),
            ("gate_enabled=TRUE", ("gate_enabled", True)),
            ("experience_base=cosine", ("experience_base", "cosine")),
        ],
    )
    def test_a_setting_is_read_in_its_type(self, text: str, expected: tuple[str, object]) -> None:
        key, value = parse_setting(text)
        assert (key, value) == expected and type(value) is type(expected[1])

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("history_k", "expected KEY=VALUE, got 'history_k'"),
            ("history_k=many", "history_k is a number, got 'many'"),
            ("history_k=2.5", "history_k is a number, got '2.5'"),
            ("gate_enabled=perhaps", "gate_enabled is a switch: true or false, got 'perhaps'"),
            ("histroy_k=3", "did you mean 'history_k'"),
            ("=3", "unknown setting ''"),
        ],
    )
    def test_what_cannot_be_read_is_named(self, text: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            parse_setting(text)


def test_a_recorded_config_may_hold_settings_that_are_gone() -> None:
    """A renamed setting made every session that had recorded the old name unusable."""
    recorded = GovernanceConfig(history_k=3).as_dict() | {"gate_coverage": 0.3}
    assert GovernanceConfig.of_record(recorded) == GovernanceConfig(history_k=3)


def test_a_setting_that_came_later_is_read_as_what_was_done_before_it() -> None:
    """Read with today's default, every turn of before the setting was replayed under another rule."""
    recorded = GovernanceConfig().as_dict()
    for name in ("history_fusion", "corrections_enabled", "dialogue_k"):
        del recorded[name]
    read = GovernanceConfig.of_record(recorded)
    assert (read.history_fusion, read.corrections_enabled, read.dialogue_k) == ("rrf", False, 0)
    assert GovernanceConfig.of_record(GovernanceConfig().as_dict()) == GovernanceConfig()
