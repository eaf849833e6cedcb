"""The schema of a problem file, one pydantic model per part; the JSON Schema for editors is generated from it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from counterplan.problem.limits import MAX_PLAN_LENGTH
from counterplan.problem.scalars import Plain, as_number, as_truth
from counterplan.problem.values import text_of

VERSION = 1


def _text(value: Any) -> Any:
    if value is None:
        raise ValueError("is empty; write a text, in quotes if it is the word null")
    if not isinstance(value, (str, bool, int, float)):
        raise ValueError("should be a text")
    return text_of(value)


def _number(value: Any) -> Any:
    number = as_number(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ValueError(f"'{value}' is not a number" if isinstance(value, str) else "should be a number")
    if math.isnan(number):
        raise ValueError("is not a number (NaN)")
    return number


def _finite(value: Any) -> Any:
    number = _number(value)
    if not math.isfinite(number):
        raise ValueError("must be finite")
    return number


def _cost(value: Any) -> Any:
    number = _finite(value)
    if number < 0:
        raise ValueError(f"{text_of(number)} is negative; costs and scales are zero or more")
    return number


def _duration(value: Any) -> Any:
    number = _finite(value)
    if number < 0:
        raise ValueError(f"{text_of(number)} is negative; durations are zero or more")
    return number


_TRUTH_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
"""Booleans of YAML 1.1, which are strings in YAML 1.2."""


def _truth(value: Any) -> Any:
    truth = as_truth(value)
    if not isinstance(truth, bool):
        meant = _TRUTH_WORDS.get(str(value).casefold())
        raise ValueError(f"'{value}' is neither true nor false{f'; write {meant}' if meant else ''}")
    return truth


def _value(value: Any) -> Any:
    if value is None:
        raise ValueError("is empty; write the value, in quotes if it is the word null or nothing at all")
    if not isinstance(value, (str, bool, int, float)):
        raise ValueError("should be a single value")
    return text_of(value) if isinstance(value, (Plain, float)) else value


def _scalar(value: Any) -> Any:
    if not isinstance(value, (str, bool, int, float)):
        raise ValueError("should be a value or a number")
    return value


def _by_text(value: Any) -> Any:
    return {text_of(key): item for key, item in value.items()} if isinstance(value, dict) else value


def _shape(value: Any) -> str:
    """The discriminator of a union of notations, so that errors refer to the notation in use only."""
    if isinstance(value, (list, tuple)):
        return "intervals" if value and isinstance(value[0], (dict, BaseModel)) else "list"
    return "mapping" if isinstance(value, (dict, BaseModel)) else "one"


def _duration_shape(value: Any) -> str:
    """As `_shape`; a mapping with `base` or `surcharge` is not by argument."""
    if isinstance(value, BaseModel) or (isinstance(value, dict) and {"base", "surcharge"} & {*map(text_of, value)}):
        return "scaled"
    return _shape(value)


_SCALAR = WithJsonSchema({"type": ["string", "number", "boolean"]})
"""For editors `when: true` and `values: [0.5]` are a boolean and a number; here they are texts."""
Text = Annotated[str, BeforeValidator(_text), _SCALAR]
Number = Annotated[float, BeforeValidator(_number)]
Finite = Annotated[float, BeforeValidator(_finite)]
Cost = Annotated[float, BeforeValidator(_cost), WithJsonSchema({"type": "number", "minimum": 0})]
Truth = Annotated[bool, BeforeValidator(_truth)]
Value = Annotated[bool | int | str, BeforeValidator(_value), _SCALAR]
Scalar = Annotated[Any, BeforeValidator(_scalar), _SCALAR]
"""A value or a number, depending on the feature."""
ByValue = BeforeValidator(_by_text)
NotEmpty = Field(json_schema_extra={"minItems": 1})
"""For editors; the builder reports empty lists with a better message."""
OneShape = Discriminator(_shape)
CostByValue = Annotated[dict[str, Cost], ByValue, Tag("mapping")]
CostList = Annotated[list[Cost], NotEmpty, Tag("list")]
PerArgument = Annotated[Annotated[Cost, Tag("one")] | CostList | CostByValue, OneShape]
Duration = Annotated[float, BeforeValidator(_duration), WithJsonSchema({"type": "number", "minimum": 0})]
DurationByValue = Annotated[dict[str, Duration], ByValue, Tag("mapping")]
DurationList = Annotated[list[Duration], NotEmpty, Tag("list")]
DurationPerArgument = Annotated[Annotated[Duration, Tag("one")] | DurationList | DurationByValue, OneShape]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


def _with(rules: dict[str, Any]) -> ConfigDict:
    """Rules between the keys of a part, for editors; the builder enforces them."""
    return ConfigDict(json_schema_extra=rules)


def _not_both(one: str, other: str) -> dict[str, Any]:
    return {"not": {"required": [one, other]}}


class NumberSpec(_Part):
    """A number, whole or not."""

    kind: Literal["number"]
    label: Text | None = Field(None, description="The name shown to applicants: 'your yearly income'.")
    protected: Truth = Field(False, description="A protected attribute, such as sex or race.")
    missing: Truth = Field(False, description="Whether the value may be missing.")
    integer: Truth = Field(False, description="Whether only whole numbers are valid.")
    unit: Text | None = Field(None, description="Written after the number: €, months.")
    minimum: Finite | None = Field(
        None, description="The lower bound of people's values and of the results of actions."
    )
    maximum: Finite | None = Field(
        None, description="The upper bound of people's values and of the results of actions."
    )
    bins: Annotated[Annotated[Literal["auto"], Tag("one")] | Annotated[list[Number], Tag("list")], OneShape] = Field(
        "auto",
        description="Cut points of the binary encoding: each starts an interval that ends before the next. "
        "'auto' learns them from data; an empty list leaves the feature out.",
    )


class CategorySpec(_Part):
    """One of a list of values, in order of rank if `ordered`."""

    kind: Literal["category", "ordered"]
    label: Text | None = Field(None, description="The name shown to applicants: 'your job'.")
    protected: Truth = Field(False, description="A protected attribute, such as sex or race.")
    missing: Truth = Field(False, description="Whether the value may be missing.")
    values: list[Value] = Field(
        min_length=1,
        description="Every value, lowest rank first if ordered.",
        json_schema_extra={"uniqueItems": True},
    )
    labels: Annotated[dict[str, Text], ByValue] = Field({}, description="Words for applicants, by value.")


FeatureSpec = Annotated[NumberSpec | CategorySpec, Field(discriminator="kind")]


class CostSpec(_Part):
    """Cost of an action: surcharge + base × the scales of the causes of the feature."""

    base: PerArgument = Field(description="One number for all, a list (one per argument), or a number by value.")
    surcharge: PerArgument = Field(0.0, description="Added to the scaled base cost.")


_NotScaled = Field(json_schema_extra={"not": {"anyOf": [{"required": ["base"]}, {"required": ["surcharge"]}]}})


class DurationSpec(_Part):
    """Duration of an action that depends on the state: surcharge + base × the scales of the causes of the feature."""

    base: DurationPerArgument = Field(
        description="One number for all, a list (one per argument), or a number by value."
    )
    surcharge: DurationPerArgument = Field(0.0, description="Added to the scaled base duration.")


class FunctionSpec(_Part):
    """A family of actions: one per argument."""

    model_config = _with({"oneOf": [{"required": ["set"]}, {"required": ["add"]}]})

    set_: Text | None = Field(None, alias="set", description="The feature that is set to the argument.")
    add: Text | None = Field(None, description="The feature that the argument is added to.")
    arguments: Annotated[
        Annotated[Literal["all"], Tag("one")]
        | Annotated[list[Scalar], Field(json_schema_extra={"minItems": 1, "uniqueItems": True}), Tag("list")],
        OneShape,
    ] = Field(description="Values of the feature, numbers, or 'all' its values.")
    when: Text = Field("true", description="The precondition: a condition on the current state and 'argument'.")
    cost: Annotated[Annotated[Cost, Tag("one")] | Annotated[CostSpec, Tag("mapping")], OneShape] = Field(
        description="The cost: one number, or base and surcharge."
    )
    duration: Annotated[
        Annotated[Duration, Tag("one")]
        | DurationList
        | Annotated[DurationByValue, _NotScaled, Tag("mapping")]
        | Annotated[DurationSpec, Tag("scaled")],
        Discriminator(_duration_shape),
    ] = Field(
        0.0,
        description="How long an action takes, in the file's time_unit: one number for all arguments, a list (one per "
        "argument) or a number by value; or base, which is scaled by causes as costs are, and surcharge.",
    )
    overlaps: Truth = Field(
        True, description="Whether steps of this function may run at the same time as independent other steps."
    )
    phrase: Text | None = Field(
        None,
        description="The description for applicants, with {argument}, {amount} (without sign), {before}, {after}: "
        "'Borrow {amount} less'.",
    )


class IntervalSpec(_Part):
    """A scale for numbers in an interval; without bounds it applies to all remaining numbers."""

    model_config = _with({"allOf": [_not_both("above", "at_least"), _not_both("below", "at_most")]})

    above: Finite | None = None
    at_least: Finite | None = None
    below: Finite | None = None
    at_most: Finite | None = None
    scale: Cost


class CauseSpec(_Part):
    """An edge of the causal graph: a scale of costs, and a consequence."""

    model_config = _with(_not_both("table", "formula"))

    from_: Text = Field(alias="from", description="The cause.")
    to: Text = Field(description="The feature that depends on it.")
    scale: (
        Annotated[
            CostList | Annotated[list[IntervalSpec], NotEmpty, Tag("intervals")] | CostByValue,
            OneShape,
        ]
        | None
    ) = Field(
        None,
        description="The factor on the base cost of changing 'to': a list by rank, a number by value "
        "(values left out count 1), or for numbers a list of intervals, the first match applies.",
    )
    table: Annotated[dict[str, Scalar], ByValue] | None = Field(
        None,
        description="The new value of 'to' when 'from' changes, by the new value of 'from'; others change nothing.",
    )
    formula: Text | None = Field(
        None,
        description="The new value of the number 'to' when 'from' changes. 'argument' is the argument of the action, "
        "before(x) the value of a feature before it: before(account_age) + argument.",
    )


class ScoreSpec(_Part):
    """The favourable scores of a model that returns numbers: at least, or at most, a number."""

    model_config = _with({"oneOf": [{"required": ["at_least"]}, {"required": ["at_most"]}]})

    at_least: Finite | None = None
    at_most: Finite | None = None


class OutcomeSpec(_Part):
    """The decision: its column, and its values with the favourable ones, or the favourable scores."""

    model_config = _with({"anyOf": [{"required": ["values"]}, {"properties": {"favourable": {"type": "object"}}}]})

    column: Text
    values: Annotated[list[Value], Field(min_length=2, json_schema_extra={"uniqueItems": True})] | None = Field(
        None, description="Every label that the model may return; none for a model that returns scores."
    )
    favourable: Annotated[
        Annotated[Value, Tag("one")]
        | Annotated[list[Value], Tag("list"), Field(min_length=1)]
        | Annotated[ScoreSpec, Tag("mapping")],
        OneShape,
    ] = Field(description="The favourable value or values, or the favourable scores: {at_least: 650}.")
    codes: Annotated[dict[str, Value], ByValue] = Field(
        {}, description="The labels that the model returns in place of values, by value: {bad: 0, good: 1}."
    )


class ProblemFile(_Part):
    """A recourse problem: features, actions with costs and preconditions, the causal graph, and the outcome."""

    counterplan: Literal[1] = Field(description="Version of this format.")
    name: Text
    title: Text | None = None
    outcome: OutcomeSpec
    max_actions: Annotated[int, Field(ge=1, le=MAX_PLAN_LENGTH), BeforeValidator(_number)] = Field(
        description="The longest plan, STOP not counted."
    )
    time_unit: Text = Field("months", description="The unit of durations, words in the plural: months, weeks.")
    features: dict[str, FeatureSpec] = Field(min_length=1)
    functions: dict[str, FunctionSpec] | None = None
    causes: list[CauseSpec] | None = None


KEYS = tuple(
    dict.fromkeys(
        field.alias or name
        for part in (
            *(NumberSpec, CategorySpec, FunctionSpec, CostSpec, DurationSpec),
            *(CauseSpec, IntervalSpec, OutcomeSpec, ScoreSpec),
        )
        for name, field in part.model_fields.items()
    )
)
"""Every key that a feature, function, cause or outcome may have."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of problem files, for completion and validation in editors."""
    schema = ProblemFile.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": "counterplan problem"}
