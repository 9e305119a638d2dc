"""What the operator decides before start: `arpm.toml`, then the ARPM_* environment variables over it.

Keeps the promise that a bind beyond loopback needs a token, and that a misspelt setting is refused by name
instead of being ignored. Secrets come from the environment only and are in no repr, error or listing. Knows
nothing about the governance of a turn (`governance.config`), and opens no model, log folder or socket.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from arpm.errors import InputError
from arpm.generation.base import PromptStyle

BackendKind = Literal["local", "openai", "transformers"]
BACKENDS: tuple[str, ...] = get_args(BackendKind)
CONFIG_FILE = "arpm.toml"
PREFIX = "ARPM_"
LOCAL_MODEL = "local"

_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,127}")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name, type, default and one line of help.

    `low` and `high` close the range of a number. `env_only` keeps it out of the file. `backends` (keys of a
    model table) says which backends take it.
    """

    name: str
    type: type[str | int | float | Path]
    default: str | int | float | None
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    env_only: bool = False
    backends: tuple[str, ...] = BACKENDS

    @property
    def variable(self) -> str:
        """The environment variable of a top-level setting."""
        return PREFIX + self.name.upper()


SETTINGS: tuple[Setting, ...] = (
    Setting("config", Path, None, "The settings file; unset takes ./arpm.toml if it is there.", env_only=True),
    Setting("logs", Path, "logs", "Folder of the ledgers and the caches rebuilt from them."),
    Setting("host", str, "127.0.0.1", "Address to listen on; anything but loopback needs ARPM_TOKEN."),
    Setting("port", int, 8787, "Port to listen on; 0 takes a free one.", low=0, high=65535),
    Setting("token", str, None, "Secret that every request must carry; unset means no login.", env_only=True),
    Setting("model", str, LOCAL_MODEL, "Model of a new session: 'local' or the NAME of a table."),
    Setting("embedder", str, "e5", "Embedder of both memories; a name or a local folder."),
    Setting("timezone", str, "UTC", "IANA name of the timezone of a user who has not chosen one."),
    Setting("upload_limit", int, 33_554_432, "Largest document or import in bytes.", low=1, high=2**31),
    Setting("cache", Path, None, "Folder of the converted embedded model; unset: the user's cache folder."),
    Setting("data", Path, None, "Folder of the data sets that benchmarks read."),
    Setting("key", Path, None, "Key file that signs checkpoints; unset: in the user's configuration folder."),
)

_REMOTE, _FOLDER = ("openai",), ("transformers",)
_NOT_LOCAL = _REMOTE + _FOLDER
_STYLES: tuple[str, ...] = get_args(PromptStyle)
MODEL_SETTINGS: tuple[Setting, ...] = (
    Setting("backend", str, None, "How the model is run.", choices=BACKENDS),
    Setting("base_url", str, None, "Address of the API, usually ending in /v1.", backends=_REMOTE),
    Setting("model", str, None, "The model's name at the endpoint.", backends=_REMOTE),
    Setting("api_key_env", str, None, "NAME of the variable that holds the key.", backends=_REMOTE),
    Setting("path", Path, None, "Model folder or .gguf file; unset: the packaged one.", backends=_FOLDER),
    Setting(
        "prompt_style",
        str,
        None,
        "Wording of the prompt; compact suits very small models.",
        choices=_STYLES,
        backends=_NOT_LOCAL,
    ),
    Setting(
        "context_tokens",
        int,
        None,
        "Window in tokens, prompt and reply together.",
        low=256,
        high=2**24,
        backends=_NOT_LOCAL,
    ),
    Setting("temperature", float, None, "Randomness of the reply; 0 is greedy.", low=0, high=2),
    Setting("top_p", float, None, "Nucleus sampling: share of probability kept.", low=0.01, high=1),
    Setting("max_tokens", int, None, "Longest reply in tokens.", low=1, high=2**20),
    Setting("seed", int, None, "Seed of the sampling, where the model takes one.", low=0, high=2**32 - 1),
    Setting("timeout", float, None, "Seconds for a whole call, retries included.", low=0.1, high=86400),
    Setting("connect_timeout", float, 10.0, "Seconds to connect.", low=0.1, high=600, backends=_REMOTE),
    Setting("read_timeout", float, 60.0, "Longest silence in seconds.", low=0.1, high=86400, backends=_REMOTE),
    Setting("tries", int, 3, "Calls in all if the endpoint is busy.", low=1, high=10, backends=_REMOTE),
    Setting("proxy", str, None, "HTTP proxy; the environment's proxy is never used.", backends=_REMOTE),
)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One `[models.NAME]` table; None leaves a value to the backend. Fields are those of MODEL_SETTINGS."""

    name: str
    backend: BackendKind
    base_url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    path: Path | None = None
    prompt_style: PromptStyle | None = None
    context_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    timeout: float | None = None
    connect_timeout: float = 10.0
    read_timeout: float = 60.0
    tries: int = 3
    # May hold the proxy's password.
    proxy: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """Every decision of the operator. Fields are those of SETTINGS, and the model tables in the file's order.

    Raises InputError for an unknown timezone and for a host beyond loopback without a token, so that a change
    made by `dataclasses.replace` (the command line's options) is checked like the file.
    """

    config: Path | None = None
    logs: Path = Path("logs")
    host: str = "127.0.0.1"
    port: int = 8787
    token: str | None = field(default=None, repr=False)
    model: str = LOCAL_MODEL
    embedder: str = "e5"
    timezone: str = "UTC"
    upload_limit: int = 33_554_432
    cache: Path | None = None
    data: Path | None = None
    key: Path | None = None
    models: tuple[ModelSettings, ...] = ()

    def __post_init__(self) -> None:
        _check_timezone(self.timezone)
        _check_token(self.token)
        _check_bind(self.host, self.token)

    def public(self) -> dict[str, Any]:
        """All settings as plain values for a listing; the token and proxies only as whether they are set."""
        values = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        values["token"] = _presence(self.token)
        values["models"] = [_public_model(model) for model in self.models]
        return values


def load_settings(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """Read the settings: defaults, then the file, then the environment.

    `environ` and `folder` stand for the process's environment and working folder. Relative paths in the file
    are taken from the file's folder, those in the environment from `folder`. An empty variable is unset.
    Raises InputError with the place, the key and the remedy.
    """
    environ = os.environ if environ is None else environ
    folder = Path.cwd() if folder is None else folder
    given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value}
    file = _config_file(given.get(PREFIX + "CONFIG"), folder)
    document = _read_toml(file) if file else {}
    models = _models(document.pop("models", {}), file)
    _check_variables(given, models)
    from_file = _from_file(document, file)
    from_environment = {
        s.name: _parse(s, given[s.variable], s.variable, folder) for s in SETTINGS if s.variable in given
    }
    settings = Settings(**{**from_file, **from_environment, "config": file, "models": models})
    _check_default_model(settings)
    return settings


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def _config_file(named: str | None, folder: Path) -> Path | None:
    if named is None:
        usual = folder / CONFIG_FILE
        return usual if usual.exists() else None
    path = folder / Path(named).expanduser()
    if not path.is_file():
        raise InputError(f"{PREFIX}CONFIG: there is no file {str(path)!r}. Correct the path or unset the variable.")
    return path


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Correct its permissions.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not valid TOML: {error}.") from error


def _from_file(document: Mapping[str, Any], file: Path | None) -> dict[str, Any]:
    known = {s.name: s for s in SETTINGS}
    values = {}
    for key, value in document.items():
        if key in known and known[key].env_only:
            raise InputError(f"{file}: {key!r} cannot stand in the file. Set {known[key].variable} instead.")
        _check_key(key, [s.name for s in SETTINGS if not s.env_only] + ["models"], f"{file}", "key")
        values[key] = _parse(known[key], value, f"{file}: {key}", _folder_of(file))
    return values


def _models(tables: object, file: Path | None) -> tuple[ModelSettings, ...]:
    if not isinstance(tables, dict):
        raise InputError(f"{file}: 'models' must be tables. Write [models.NAME] and its keys below it.")
    return tuple(_model(name, table, file) for name, table in tables.items())


def _model(name: str, table: object, file: Path | None) -> ModelSettings:
    place = f"{file}: [models.{name}]"
    if not isinstance(table, dict):
        raise InputError(f"{file}: 'models.{name}' must be a table. Write [models.{name}] and its keys below it.")
    _check_table(name, table, place)
    backend = _parse(MODEL_SETTINGS[0], table["backend"], f"{place} backend", _folder_of(file))
    for setting in MODEL_SETTINGS:
        if setting.name in table and backend not in setting.backends:
            raise InputError(f"{place}: {setting.name!r} means nothing for backend {backend!r}. Remove it.")
    values = {
        s.name: _parse(s, table[s.name], f"{place} {s.name}", _folder_of(file))
        for s in MODEL_SETTINGS
        if s.name in table
    }
    model = ModelSettings(name=name, **values)
    _check_model(model, place)
    return model


def _folder_of(file: Path | None) -> Path:
    return file.parent if file else Path()


def _parse(setting: Setting, value: object, place: str, folder: Path) -> Any:
    """`value`, text of a variable or a TOML value, in the setting's type. InputError names `place`."""
    if setting.type in (int, float):
        return _number(setting, value, place)
    # The value is not printed: this may be a token, or a key put where its name belongs.
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InputError(f"{place}: must be text in quotes, not empty and without control characters.")
    if setting.choices and value not in setting.choices:
        raise InputError(f"{place}: {value!r} is not one of {', '.join(setting.choices)}.")
    return folder / Path(value).expanduser() if setting.type is Path else value


def _number(setting: Setting, value: object, place: str) -> int | float:
    whole = setting.type is int
    try:
        number = (int if whole else float)(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    # bool is an int to Python, and nan is in no range.
    if isinstance(number, bool) or not isinstance(number, int if whole else int | float):
        raise InputError(f"{place}: {value!r} is not a {'whole ' if whole else ''}number.")
    low, high = setting.low, setting.high
    if (low is not None and not number >= low) or (high is not None and not number <= high):
        raise InputError(f"{place}: {number} is out of range; from {low} to {high} is allowed.")
    return number if whole else float(number)


def _check_key(key: str, known: Collection[str], place: str, noun: str) -> None:
    if key not in known:
        nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]
        raise InputError(
            f"{place}: unknown {noun} {key!r}; the nearest valid one is {nearest!r}. All: {_listed(known)}."
        )


def _check_variables(given: Iterable[str], models: tuple[ModelSettings, ...]) -> None:
    known = [s.variable for s in SETTINGS] + [m.api_key_env for m in models if m.api_key_env]
    for name in given:
        _check_key(name, known, "environment", "variable")


def _check_table(name: str, table: Mapping[str, Any], place: str) -> None:
    if not _MODEL_NAME.fullmatch(name):
        raise InputError(f"{place}: a model's name is up to 64 letters, digits, '.', '_' and '-'. Rename it.")
    for key, value in table.items():
        if isinstance(value, dict):
            raise InputError(f'{place}: a name with a dot needs quotes. Write [models."{name}.{key}"].')
        _check_key(key, [s.name for s in MODEL_SETTINGS], place, "key")
    if "backend" not in table:
        raise InputError(f"{place}: 'backend' is missing. Set it to one of {', '.join(BACKENDS)}.")


def _check_model(model: ModelSettings, place: str) -> None:
    if (model.name == LOCAL_MODEL) != (model.backend == "local"):
        raise InputError(f"{place}: the name 'local' and backend 'local' belong together. Change one of them.")
    if model.backend == "openai":
        for key in ("base_url", "model"):
            if getattr(model, key) is None:
                raise InputError(f"{place}: {key!r} is missing. Backend 'openai' needs it.")
        _check_url(cast(str, model.base_url), f"{place} base_url")
    if model.api_key_env and not _VARIABLE_NAME.fullmatch(model.api_key_env):
        raise InputError(f"{place} api_key_env: takes the NAME of a variable (capitals, digits, '_'), not a key.")
    if model.proxy and urlsplit(model.proxy).scheme not in ("http", "https"):
        raise InputError(f"{place} proxy: must start with http:// or https://.")


def _check_url(url: str, place: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"{place}: must be an address such as https://api.example.com/v1.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(f"{place}: must have no user, password, '?' or '#'. Put the key into api_key_env's variable.")
    if parts.path.rstrip("/").endswith("/chat/completions"):
        raise InputError(f"{place}: must end before /chat/completions, which is added to it.")


def _check_default_model(settings: Settings) -> None:
    names = {LOCAL_MODEL, *(model.name for model in settings.models)}
    if settings.model not in names:
        raise InputError(
            f"model: there is no model {settings.model!r}. Add a table [models.{settings.model}] to"
            f" {CONFIG_FILE}, or choose one of {_listed(names)}."
        )


def _check_timezone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(
            f"timezone: {name!r} is unknown. Use a name such as 'Europe/Paris' or 'Asia/Shanghai'."
        ) from error


def _check_token(token: str | None) -> None:
    # It travels in a header; the text is not printed.
    if token is not None and not (token and all("!" <= character <= "~" for character in token)):
        raise InputError(f"{PREFIX}TOKEN: must be visible ASCII characters without spaces.")


def _check_bind(host: str, token: str | None) -> None:
    if not is_loopback(host) and token is None:
        raise InputError(
            f"host: {host!r} can be reached from other machines, and no token is set. Set {PREFIX}TOKEN"
            " to a long random text, or listen on 127.0.0.1."
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


def _presence(secret: str | None) -> str | None:
    return None if secret is None else "(set)"


def _public_model(model: ModelSettings) -> dict[str, Any]:
    values = {f.name: _plain(getattr(model, f.name)) for f in fields(model)}
    return {**values, "proxy": _presence(model.proxy)}
