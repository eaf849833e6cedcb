"""A small reading of JSON Schema: the words that the schemas of counterplan use."""

from __future__ import annotations

from typing import Any

KINDS: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "integer": int,
}


def valid(data: Any, schema: dict[str, Any], root: dict[str, Any] | None = None) -> bool:
    """Whether `data` fit a schema; `root` holds its definitions."""
    root = schema if root is None else root
    if "$ref" in schema and not valid(data, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root):
        return False
    if "const" in schema and (data != schema["const"] or type(data) is not type(schema["const"])):
        return False
    if "oneOf" in schema and sum(valid(data, option, root) for option in schema["oneOf"]) != 1:
        return False
    kinds = schema.get("type", [])
    if kinds and not any(isinstance(data, KINDS[kind]) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return False
    if isinstance(data, list):
        return len(data) >= schema.get("minItems", 0) and all(
            valid(item, schema.get("items", {}), root) for item in data
        )
    if isinstance(data, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        if not {*schema.get("required", [])} <= {*data} or (others is False and not {*data} <= {*known}):
            return False
        return all(valid(value, known.get(key, others or {}), root) for key, value in data.items())
    return True
