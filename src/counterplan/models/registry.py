"""The packages whose models are known; another one is a module with a `Package`, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from counterplan.models import catboost, identity, lightgbm, mlflow, sklearn, xgboost
from counterplan.models.package import ANY, Package

T = TypeVar("T")
PACKAGES: dict[str, Package] = {
    package.name: package
    for package in (catboost.PACKAGE, lightgbm.PACKAGE, mlflow.PACKAGE, sklearn.PACKAGE, xgboost.PACKAGE)
}
identity.CONTENTS.update({name: package.content for name, package in PACKAGES.items()})


def package_of(model: object) -> Package:
    """The package that an object is a model of, by the modules of the classes that it inherits from."""
    for kind in type(model).__mro__:
        if package := PACKAGES.get(kind.__module__.partition(".")[0]):
            return package
    return ANY


class Training(NamedTuple):
    """What an estimator knows about the table that it was trained on."""

    estimator: Any
    """The one that gets the table unchanged: the estimator itself, or one inside."""
    package: Package
    columns: list[str] | None
    dtypes: Mapping[str, Any]


def training_of(estimator: Any) -> Training:
    """The columns and types that an estimator was trained on, as far as it or an estimator inside knows them."""
    seen: list[object] = [estimator]
    while (inner := _known(package_of(seen[-1]).inner, seen[-1])) is not None and not any(inner is one for one in seen):
        seen.append(inner)
    package = package_of(seen[-1])
    columns = next((names for one in seen if (names := _known(package_of(one).columns, one)) is not None), None)
    return Training(seen[-1], package, columns, _known(package.dtypes, seen[-1]) or {})


def _known(ask: Callable[[Any], T | None], estimator: Any) -> T | None:
    try:
        return ask(estimator)
    except Exception:  # foreign attributes may raise anything, those of an unfitted estimator in particular
        return None
