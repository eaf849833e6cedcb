"""Tables of people in any common form, converted to pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from counterplan.errors import PeopleError

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

PeopleTable: TypeAlias = "pd.DataFrame | IntoDataFrame | Sequence[Mapping[str, Any]] | Mapping[str, Any]"
"""People as a DataFrame of pandas or polars, an Arrow table, a list of dicts with one per person, or one dict."""


def as_pandas(people: PeopleTable, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Convert people to a pandas DataFrame with one row each.

    Categorical, enum and dictionary columns become pandas categoricals with all their categories.

    Parameters
    ----------
    people : pandas.DataFrame, polars.DataFrame, pyarrow.Table, list of dict, or dict
        Other tables that narwhals supports, or that export Arrow data, are accepted too.
    columns : sequence of str
        The columns of a list of nobody.

    Returns
    -------
    pandas.DataFrame
        A DataFrame is returned unchanged.

    Raises
    ------
    PeopleError
        If `people` is none of these.
    """
    if isinstance(people, pd.DataFrame):
        return people
    if isinstance(people, Mapping):
        if any(isinstance(value, (list, tuple, np.ndarray, pd.Series)) for value in people.values()):
            raise _refused("a dict of columns; pandas.DataFrame(people) makes a table of it")
        return pd.DataFrame([people])
    if isinstance(people, (list, tuple)):
        for person in people:
            if not isinstance(person, Mapping):
                raise _refused(f"a {type(people).__name__} of {type(person).__name__}")
        return pd.DataFrame(list(people), columns=None if people else [*columns])
    return _by_narwhals(people)


def _by_narwhals(people: Any) -> pd.DataFrame:
    import narwhals as nw

    frame, name = nw.from_native(people, eager_only=True, pass_through=True), type(people).__name__
    try:
        if isinstance(frame, nw.DataFrame):
            return frame.to_pandas()
        if hasattr(people, "__arrow_c_stream__") or hasattr(people, "__arrow_c_array__"):
            import pyarrow

            converted: pd.DataFrame = pyarrow.table(people).to_pandas()
            return converted
    except ImportError:
        raise PeopleError(f"a table of type {name} needs pyarrow: pip install 'counterplan[parquet]'") from None
    except (TypeError, ValueError):  # Arrow data without columns, such as those of a Series
        raise _refused(name) from None
    raise _refused(f"{name}; collect it first" if hasattr(people, "collect") else name)


def _refused(form: str) -> PeopleError:
    return PeopleError(
        f"people come as a DataFrame of pandas or polars, an Arrow table, a list of dicts or one dict, not as {form}"
    )
