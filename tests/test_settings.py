"""Settings: what is given is used, and what is misspelt, misplaced or unsafe is refused by name."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from arpm.errors import InputError
from arpm.settings import MODEL_SETTINGS, SETTINGS, ModelSettings, Setting, Settings, is_loopback, load_settings

ROOT = Path(__file__).parents[1]
MODEL = '[models.big]\nbackend = "openai"\nbase_url = "https://api.example.com/v1"\nmodel = "big-1"\n'
TOKEN = "correct-horse-battery-staple"

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load settings from the text of a file and from variables, in a folder of their own."""

    def load(text: str | bytes | None = None, **variables: str) -> Settings:
        if text is not None:
            (tmp_path / "arpm.toml").write_bytes(text.encode() if isinstance(text, str) else text)
        return load_settings(variables, tmp_path)

    return load


def refusal(load: Load, text: str | bytes | None = None, **variables: str) -> str:
    with pytest.raises(InputError) as caught:
        load(text, **variables)
    return str(caught.value)


class TestWhatIsGivenIsUsed:
    def test_defaults_are_those_of_the_table(self, load: Load) -> None:
        settings = load()
        for setting in SETTINGS:
            value = getattr(settings, setting.name)
            assert (str(value) if isinstance(value, Path) else value) == setting.default, setting.name

    def test_dataclasses_and_tables_agree(self) -> None:
        assert [f.name for f in dataclasses.fields(Settings)] == [s.name for s in SETTINGS] + ["models"]
        assert {f.name for f in dataclasses.fields(ModelSettings)} == {s.name for s in MODEL_SETTINGS} | {"name"}
        defaults = ModelSettings(name="x", backend="openai")
        for setting in MODEL_SETTINGS[1:]:
            assert getattr(defaults, setting.name) == setting.default, setting.name

    def test_the_environment_goes_over_the_file(self, load: Load, tmp_path: Path) -> None:
        settings = load(f'port = 9000\nhost = "::1"\nmodel = "big"\n{MODEL}', ARPM_PORT="9001", ARPM_LOGS="here")
        assert (settings.port, settings.host, settings.model) == (9001, "::1", "big")
        assert settings.logs == tmp_path / "here"

    def test_a_model_table_is_read_whole(self, load: Load) -> None:
        rest = 'api_key_env = "BIG_KEY"\nprompt_style = "compact"\ncontext_tokens = 32000\ntemperature = 1\n'
        rest += "top_p = 0.9\nmax_tokens = 500\nseed = 4\ntimeout = 30\ntries = 2\n"
        (model,) = load(MODEL + rest).models
        assert (model.name, model.backend, model.model) == ("big", "openai", "big-1")
        assert (model.api_key_env, model.prompt_style, model.context_tokens) == ("BIG_KEY", "compact", 32000)
        assert (model.temperature, model.top_p, model.max_tokens, model.seed) == (1.0, 0.9, 500, 4)
        assert (model.timeout, model.tries) == (30.0, 2)
        assert isinstance(model.temperature, float)

    def test_relative_paths_are_taken_from_the_file(self, tmp_path: Path) -> None:
        """Started from another folder, the service once opened a second, empty logs folder."""
        home = tmp_path / "home"
        home.mkdir()
        (home / "my.toml").write_text('logs = "kept"\n[models.mine]\nbackend = "transformers"\npath = "weights"\n')
        settings = load_settings({"ARPM_CONFIG": "home/my.toml"}, tmp_path)
        assert settings.config == home / "my.toml"
        assert settings.logs == home / "kept"
        assert settings.models[0].path == home / "weights"

    def test_empty_variables_are_unset(self, load: Load) -> None:
        settings = load(ARPM_TOKEN="", ARPM_PORT="", ARPM_CONFIG="")
        assert (settings.token, settings.port) == (None, 8787)

    def test_variables_of_others_are_left_alone(self, load: Load) -> None:
        assert load(PATH="/bin", ARPMX="1", LC_ALL="C").port == 8787

    def test_a_key_may_live_in_a_variable_of_our_prefix_if_a_model_names_it(self, load: Load) -> None:
        assert load(MODEL + 'api_key_env = "ARPM_BIG_KEY"', ARPM_BIG_KEY="sk-1").models
        assert "ARPM_BIG_KEY" in refusal(load, MODEL, ARPM_BIG_KEY="sk-1")

    def test_a_file_from_windows_is_read(self, load: Load) -> None:
        assert load(b"\xef\xbb\xbfport = 9000\r\n").port == 9000

    def test_chinese_folders_and_names(self, load: Load, tmp_path: Path) -> None:
        assert load('logs = "日志"\n').logs == tmp_path / "日志"


class TestMistakesAreNamed:
    """Each refusal names the place, the key and what would be valid."""

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("prot = 1", ["arpm.toml", "'prot'", "'port'"]),
            ("log = 'x'", ["'log'", "'logs'"]),
            (MODEL + "temprature = 1", ["[models.big]", "'temprature'", "'temperature'"]),
            (MODEL + 'api_key = "sk-secret"', ["'api_key'", "'api_key_env'"]),
            ("[model.big]\nbackend = 'openai'", ["model"]),
            ("端口 = 1".replace("端口", '"端口"'), ["'端口'", "All: "]),
        ],
    )
    def test_an_unknown_key_of_the_file(self, load: Load, text: str, words: list[str]) -> None:
        message = refusal(load, text)
        assert all(word in message for word in words), message
        assert "sk-secret" not in message

    @pytest.mark.parametrize(("name", "near"), [("ARPM_PROT", "ARPM_PORT"), ("ARPM_LOG", "ARPM_LOGS")])
    def test_an_unknown_variable(self, load: Load, name: str, near: str) -> None:
        message = refusal(load, **{name: "secret-value"})
        assert all(word in message for word in ("environment", repr(name), repr(near)))
        assert "secret-value" not in message

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("port = 'x'", "port: 'x' is not a whole number"),
            ("port = true", "True is not a whole number"),
            ("port = 80.5", "80.5 is not a whole number"),
            ("port = 65536", "from 0 to 65535"),
            ("upload_limit = 0", "out of range"),
            ("host = ''", "host: must be text"),
            ("host = 5", "host: must be text"),
            ("timezone = 'Mars/Olympus'", "'Europe/Paris'"),
            ("timezone = '../etc/passwd'", "is unknown"),
            ("timezone = 'America'", "is unknown"),
            ("model = 'gone'", "no model 'gone'"),
            ("models = 5", "[models.NAME]"),
            ("models.big = 5", "[models.big]"),
            ("token = 'x'", "ARPM_TOKEN"),
            ("config = 'x'", "ARPM_CONFIG"),
            ("port =", "is not valid TOML"),
            ("port = 1\nport = 2", "is not valid TOML"),
            (b"host = '\xff'", "not UTF-8 (byte 8)"),
            ("[models.big]\nmodel = 'x'", "'backend' is missing"),
            ("[models.big]\nbackend = 'azure'", "'azure' is not one of local, openai, transformers"),
            ("[models.big]\nbackend = 'openai'\nmodel = 'x'", "'base_url' is missing"),
            ("[models.big]\nbackend = 'openai'\nbase_url = 'http://h/v1'", "'model' is missing"),
            ("[models.big]\nbackend = 'local'", "belong together"),
            ("[models.local]\nbackend = 'transformers'", "belong together"),
            ("[models.local]\nbackend = 'local'\npath = 'x'", "'path' means nothing for backend 'local'"),
            ("[models.'a b']\nbackend = 'transformers'", "Rename it"),
            ("[models.gpt-4.1]\nbackend = 'openai'", '[models."gpt-4.1"]'),
            (MODEL + "temperature = nan", "out of range"),
            (MODEL + "temperature = 2.5", "from 0 to 2"),
            (MODEL + "timeout = inf", "out of range"),
            (MODEL + "context_tokens = '9000.5'", "whole number"),
            (MODEL + "path = 'x'", "'path' means nothing for backend 'openai'"),
            (MODEL + "proxy = 'socks5://h'", "http://"),
        ],
    )
    def test_a_value_that_cannot_be(self, load: Load, text: str, words: str) -> None:
        assert words in refusal(load, text)

    @pytest.mark.parametrize(
        "url",
        ["api.example.com/v1", "ftp://h/v1", "http://", "http://[::1", "http://h:99999/v1", "http://h/v1?key=abc123",
         "http://user:abc123@h/v1", "http://h/v1#x", "https://h/v1/chat/completions"],
    )  # fmt: skip
    def test_an_address_that_cannot_be(self, load: Load, url: str) -> None:
        message = refusal(load, f'[models.big]\nbackend = "openai"\nmodel = "x"\nbase_url = "{url}"\n')
        assert "[models.big] base_url: must" in message
        assert "abc123" not in message

    def test_a_missing_or_unreadable_file(self, load: Load, tmp_path: Path) -> None:
        assert "there is no file" in refusal(load, ARPM_CONFIG="nowhere.toml")
        (tmp_path / "arpm.toml").mkdir()
        assert "cannot be read" in refusal(load)


class TestSecrets:
    def test_the_token_comes_from_the_environment_and_is_never_shown(self, load: Load) -> None:
        settings = load(ARPM_TOKEN=TOKEN)
        assert settings.token == TOKEN
        assert TOKEN not in repr(settings)
        assert TOKEN not in str(settings.public())
        assert settings.public()["token"] == "(set)"

    @pytest.mark.parametrize("token", ["two words", "пароль", "tab\there", "密码密码"])
    def test_a_token_that_no_header_can_carry_is_refused_unseen(self, load: Load, token: str) -> None:
        message = refusal(load, ARPM_TOKEN=token)
        assert "ARPM_TOKEN" in message
        assert token not in message

    def test_a_key_in_the_place_of_its_name_is_refused_unseen(self, load: Load) -> None:
        """People paste the key itself; an error that repeats it puts it into a log."""
        message = refusal(load, MODEL + 'api_key_env = "sk-live-abc123"')
        assert "NAME" in message
        assert "sk-live" not in message

    def test_the_password_of_a_proxy_is_never_shown(self, load: Load) -> None:
        settings = load(MODEL + 'proxy = "http://me:hunter2@proxy:3128"')
        assert settings.models[0].proxy
        assert "hunter2" not in repr(settings) + str(settings.public())


class TestBindingBeyondLoopback:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", "127.0.0.1.example.com", "127.1"])
    def test_it_needs_a_token_and_says_how_to_get_one(self, load: Load, host: str) -> None:
        message = refusal(load, ARPM_HOST=host)
        assert all(word in message for word in (host, "ARPM_TOKEN", "127.0.0.1"))
        assert load(ARPM_HOST=host, ARPM_TOKEN=TOKEN).host == host

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.9.8.7", "::1", "[::1]", "localhost", "LOCALHOST"])
    def test_loopback_needs_none(self, load: Load, host: str) -> None:
        assert is_loopback(host)
        assert load(ARPM_HOST=host).token is None

    def test_a_change_by_the_command_line_is_checked_too(self) -> None:
        with pytest.raises(InputError, match="ARPM_TOKEN"):
            dataclasses.replace(Settings(), host="0.0.0.0")


class TestDocumentation:
    """Every setting is documented, and nothing else is."""

    PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    EXAMPLE = (ROOT / "arpm.toml.example").read_text(encoding="utf-8")

    def rows(self, heading: str) -> dict[str, str]:
        """The table rows under a heading, by the name in their first cell."""
        section = self.PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
        return {m[1]: m[0] for m in re.finditer(r"^\| `(\w+)` \|.*$", section, re.M)}

    @pytest.mark.parametrize(("heading", "table"), [("Settings", SETTINGS), ("Model tables", MODEL_SETTINGS)])
    def test_every_setting_has_its_row_with_its_help(self, heading: str, table: tuple[Setting, ...]) -> None:
        rows = self.rows(heading)
        assert list(rows) == [setting.name for setting in table]
        for setting in table:
            assert setting.help in rows[setting.name]
            if setting.default is not None:
                assert f"`{setting.default}`" in rows[setting.name]

    @pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
    def test_every_variable_is_named(self, setting: Setting) -> None:
        assert f"`{setting.variable}`" in self.rows("Settings")[setting.name]

    def test_the_example_is_valid_and_complete(self, load: Load) -> None:
        settings = load(self.EXAMPLE)
        assert {model.backend for model in settings.models} == {"local", "openai", "transformers"}
        for setting in [*(s for s in SETTINGS if not s.env_only), *MODEL_SETTINGS]:
            assert re.search(rf"^(# )?{setting.name} = ", self.EXAMPLE, re.M), setting.name

    def test_what_the_example_leaves_out_is_valid_as_well(self, load: Load) -> None:
        assert load(re.sub(r"^# (\w+ = )", r"\1", self.EXAMPLE, flags=re.M)).models
