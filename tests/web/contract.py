"""docs/openapi.json as something that answers can be held against.

watch(site.http)      # from now on every answer must be as the description says
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from arpm.web.openapi import FILE
from tests.web.support import events

_URI = "urn:arpm:openapi"


@cache
def document() -> dict[str, Any]:
    """The description."""
    read: dict[str, Any] = json.loads(Path(FILE).read_text("utf-8"))
    return read


def operations() -> dict[tuple[str, str], dict[str, Any]]:
    """Every operation by method and path."""
    return {
        (method.upper(), path): operation
        for path, item in document()["paths"].items()
        for method, operation in item.items()
    }


def faults(schema: dict[str, Any], value: object) -> str | None:
    """Why a value is not as a schema of the description says; None when it is."""
    validator = _validator(json.dumps(schema))
    error = best_match(validator.iter_errors(value))
    return None if error is None else f"{error.json_path}: {error.message[:500]}"


@cache
def _validator(schema: str) -> Draft202012Validator:
    resource = Resource.from_contents(document(), default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(_URI, resource)
    return Draft202012Validator(_absolute(json.loads(schema)), registry=registry, format_checker=FormatChecker())


def _absolute(node: Any) -> Any:
    """The schema with its references made to point into the description from outside."""
    if isinstance(node, dict):
        return {key: _URI + value if key == "$ref" else _absolute(value) for key, value in node.items()}
    return [_absolute(item) for item in node] if isinstance(node, list) else node


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """What a reference points at."""
    while "$ref" in node:
        target: Any = document()
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def operation_of(method: str, path: str) -> tuple[str, dict[str, Any]] | None:
    """The operation that a request is, and its path in the description. An address spelt out comes first."""
    if (method, path) in operations():
        return path, operations()[method, path]
    for (known, template), operation in operations().items():
        if known == method and re.fullmatch(_pattern(template, operation), path):
            return template, operation
    return None


def _pattern(template: str, operation: dict[str, Any]) -> str:
    """A path as a regular expression: what its parameters may be, and whatever else stands between slashes."""
    pattern = re.escape(template)
    for parameter in map(resolved, operation.get("parameters", [])):
        allowed = resolved(parameter["schema"]).get("pattern", "[^/]+").strip("^$")
        pattern = pattern.replace(f"\\{{{parameter['name']}\\}}", f"(?:{allowed}|[^/]+)")
    return pattern


def check(response: httpx.Response) -> None:
    """Assert that an answer is one that the description allows. Reads the answer to its end."""
    request = response.request
    found = operation_of(request.method, unquote(request.url.path))
    assert found is not None, (request.method, request.url.path)
    template, operation = found
    where = f"{request.method} {template} -> {response.status_code}"
    assert str(response.status_code) in operation["responses"], f"{where} is not described: {response.read()[:300]!r}"
    content = resolved(operation["responses"][str(response.status_code)])["content"]
    kind = response.headers["Content-Type"].partition(";")[0]
    assert kind in content, f"{where} is not described as {kind}"
    if kind == "text/event-stream":
        response.read()
        for name, data in events(response):
            fault = faults(content[kind]["x-events"][name], data)
            assert fault is None, f"{where}, event {name}: {fault}"
    elif "schema" not in content[kind]:
        # A picture or a file: what it must be is for the test that asks for it.
        assert response.read(), f"{where} is empty"
    else:
        fault = faults(content[kind]["schema"], json.loads(response.read()))
        assert fault is None, f"{where}: {fault}"


def watch(client: httpx.Client) -> set[tuple[str, str, int]]:
    """Check every answer that a client gets from now on. Returns what was seen so far: method, path, status."""
    seen: set[tuple[str, str, int]] = set()

    def look(response: httpx.Response) -> None:
        check(response)
        found = operation_of(response.request.method, unquote(response.request.url.path))
        assert found is not None
        seen.add((response.request.method, found[0], response.status_code))

    client.event_hooks["response"].append(look)
    return seen
