"""The JSON Schemas in docs/schema, as validators."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "schema"

# Neither has types; they come with check-jsonschema.
jsonschema: Any = importlib.import_module("jsonschema")
referencing: Any = importlib.import_module("referencing")

SCHEMAS: dict[str, Any] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(FOLDER.glob("*.json"))
}

_REGISTRY: Any = referencing.Registry().with_resources(
    (f"{name}.json", referencing.Resource.from_contents(schema)) for name, schema in SCHEMAS.items()
)
_VALIDATORS: dict[str, Any] = {
    name: jsonschema.Draft202012Validator(schema, registry=_REGISTRY)
    for name, schema in SCHEMAS.items()
}


def check_schema(name: str) -> None:
    """Hold a schema to the metaschema.

    Raises:
        jsonschema.SchemaError: it is none.
    """
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


def accepts(name: str, value: object) -> bool:
    """Whether a value is what that schema describes."""
    return bool(_VALIDATORS[name].is_valid(value))


def findings(name: str, value: object) -> list[str]:
    """What is wrong with a value, by that schema."""
    errors: Iterator[Any] = _VALIDATORS[name].iter_errors(value)
    return [f"{error.json_path}: {error.message}" for error in errors]
