"""SQL expressions that compute the features of a model from the columns of a table."""

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from dimetric.data._encoder import TableEncoder
from dimetric.export._quote import float_literal, quote_name, quote_string

# Strings that DuckDB reads as booleans, and the strings to which it converts the booleans.
BOOLEAN_STRINGS = dict.fromkeys(("true", "t", "yes", "y", "1"), "true")
BOOLEAN_STRINGS |= dict.fromkeys(("false", "f", "no", "n", "0"), "false")


def feature_expressions(
    model: Any, features: Sequence[str], columns: str | Sequence[str] | None, dialect: str
) -> list[str]:
    """Return a SQL expression for each feature: a column, a vector entry or a category."""
    if isinstance(columns, str):
        quoted = quote_name(columns, dialect)
        vector = quoted if dialect == "duckdb" else f"({quoted}::real[])"
        return [f"{vector}[{i + 1}]" for i in range(len(features))]
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if columns is None and isinstance(first, TableEncoder):
        return _encoder_expressions(first, dialect)
    columns = features if columns is None else columns
    if len(set(columns)) != len(features) or len(columns) != len(features):
        repeated = len(columns) - len(set(columns))
        raise ValueError(
            f"The model has {len(features)} features, but columns has {len(columns)} names"
            f"{f' ({repeated} repeated)' if repeated else ''}. Pass a different name for each "
            "feature, or the name of one column that holds vectors."
        )
    return [quote_name(each, dialect) for each in columns]


def _encoder_expressions(encoder: TableEncoder, dialect: str) -> list[str]:
    """Return a SQL expression for each feature of an encoder."""
    _refuse_encodings(encoder)
    expressions = []
    columns = zip(encoder.column_names(), encoder.categories_, encoder.fills_, strict=True)
    for name, categories, fill in columns:
        column, impute = quote_name(name, dialect), encoder.imputes()
        if categories is None:
            value = f"coalesce({column}, {float_literal(float(fill))})" if impute else column
            expressions.append(value)
            continue
        column = f"{column}::text"
        # Reading a file strips leading spaces from the categories, but the database may keep them.
        if all(each == each.lstrip() for each in categories):
            column = f"ltrim({column})"
        column = f"coalesce({column}, {quote_string(str(fill))})" if impute else column
        is_binary = len(categories) <= 2  # one feature, which is 1/2 for an unknown category
        for category in categories[-1:] if is_binary else categories:
            whens = _when_clauses(category, categories, 1)
            others = categories[:-1] if is_binary else []
            whens += "".join(_when_clauses(each, categories, 0) for each in others)
            otherwise = f"CASE WHEN {column} IS NULL THEN NULL ELSE {0.5 if is_binary else 0} END"
            expressions.append(f"(CASE {column}{whens} ELSE {otherwise} END)")
    return expressions


def _refuse_encodings(encoder: TableEncoder) -> None:
    """Raise if columns become features in a way that SQL does not compute."""
    encodings = getattr(encoder, "encodings_", {})
    if encodings:
        described = ", ".join(f"{name!r} ({each.content})" for name, each in encodings.items())
        raise ValueError(
            f"SQL cannot compute the features of the columns {described}. Store the features that "
            "the model's first step returns in a table and pass their names as columns, or fit "
            "the model without these columns."
        )


def _when_clauses(category: str, categories: Sequence[str], value: int) -> str:
    """Return the WHEN clauses of a category, which may be a boolean in the database."""
    texts = [category]
    booleans = {BOOLEAN_STRINGS.get(each.lower()) for each in categories}
    if len(categories) == 2 and booleans == {"true", "false"}:
        texts = list(dict.fromkeys([category, BOOLEAN_STRINGS[category.lower()]]))
    return "".join(f" WHEN {quote_string(each)} THEN {value}" for each in texts)
