"""``[tool.beskar]`` of the ``pyproject.toml`` in the current folder: defaults for options, below the environment.

A key is an option's name, with ``-`` or ``_``. What cannot be meant (a misspelt key, a list for a number) is an error
rather than a default that silently does not hold. Sub-tables belong to others (``[tool.beskar.codegen]``) and are not
looked at.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Final

from beskar_jobs.model.errors import InvalidValue

KINDS: Final[dict[str, tuple[type, ...]]] = {
    "broker": (str,),
    "storage": (str,),
    "prefix": (str,),
    "username": (str,),
    "ca_file": (str,),
    "cert_file": (str,),
    "key_file": (str,),
    "connect_timeout": (int, float),
    "queues": (str, list),
    "concurrency": (int,),
    "processes": (int,),
    "stop_grace": (int, float),
    "listen": (str, list),
    "host": (str,),
    "port": (int,),
    "unix": (str,),
    "max_connections": (int,),
    "persist": (str,),
    "sys_interval": (int, float),
    "tls_cert_file": (str,),
    "tls_key_file": (str,),
    "client_ca_file": (str,),
    "password_file": (str,),
    "acl_file": (str,),
    "allow_anonymous_remote": (bool,),
    "log_level": (str,),
    "json_logs": (bool,),
}


def load_settings(folder: Path | None = None) -> dict[str, Any]:
    """The settings in *folder* (default: the current one), by option name with underscores.

    Raises:
        InvalidValue: the file is no TOML, or a setting is unknown or of the wrong kind; names file and key.
    """
    path = (folder or Path.cwd()) / "pyproject.toml"
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    if b"beskar" not in data:
        return {}
    import tomllib  # noqa: PLC0415  # most folders have nothing to read

    try:
        table = tomllib.loads(data.decode()).get("tool", {}).get("beskar", {})
    except (ValueError, AttributeError) as error:
        raise InvalidValue(f"{path} cannot be read: {error}") from None
    if not isinstance(table, dict):
        raise InvalidValue(f"{path}: tool.beskar is a table, [tool.beskar], with one setting a line")
    return {key.replace("-", "_"): _checked(path, key, value) for key, value in table.items() if not _is_table(value)}


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _checked(path: Path, key: str, value: Any) -> Any:
    name = key.replace("-", "_")
    where = f"{path}: [tool.beskar] {key}"
    if name == "password":
        raise InvalidValue(f"{where}: a password does not belong into a file that is shared; set BESKAR_PASSWORD")
    kinds = KINDS.get(name)
    if kinds is None:
        close = difflib.get_close_matches(name, KINDS, n=1)
        known = f"did you mean {close[0].replace('_', '-')!r}?" if close else f"there are {_listed()}"
        raise InvalidValue(f"{where} is no setting; {known}")
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise InvalidValue(f"{where} is {value!r}; it takes {_KIND_NAMES[kinds]}")
    if isinstance(value, list):
        if not all(isinstance(item, str) and "," not in item for item in value):
            raise InvalidValue(f"{where} is {value!r}; it takes {_KIND_NAMES[kinds]}")
        return ",".join(value)
    return value


_KIND_NAMES: Final[dict[tuple[type, ...], str]] = {
    (str,): "a string",
    (int,): "a whole number",
    (int, float): "a number",
    (bool,): "true or false",
    (str, list): "a list of names",
}


def _listed() -> str:
    return ", ".join(name.replace("_", "-") for name in KINDS)
