"""The first and last statements of a SQL script, which make it run completely or not at all."""

from collections.abc import Sequence

from dimetric.export._quote import dollar_quote, quote_string

# In DuckDB 1, errors such as a missing column do not abort the transaction, and a client that
# continues after an error would commit a part of the script. Calls of error() always abort it.
USED_NAMES = """\
  SELECT database_name, schema_name, table_name AS name FROM duckdb_tables()
  UNION SELECT database_name, schema_name, view_name FROM duckdb_views()
  UNION SELECT database_name, schema_name, function_name FROM duckdb_functions()
) AS used
WHERE lower(name) IN ({names}) AND (
  database_name = 'temp'
  OR (database_name = current_database() AND schema_name = current_schema())
);
"""
START_TEMPLATES = {
    "duckdb": """
BEGIN TRANSACTION;
SELECT CASE WHEN count(*) > 0 THEN error({taken}) ELSE 'unused' END AS names FROM (
"""
    + USED_NAMES,
    "postgres": """
BEGIN TRANSACTION;
DO {quote}
BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE relname IN ({names}) AND pg_table_is_visible(oid))
  OR EXISTS (SELECT FROM pg_proc WHERE proname IN ({names}) AND pg_function_is_visible(oid))
  THEN RAISE EXCEPTION USING MESSAGE = {taken};
  END IF;
END
{quote};
CREATE EXTENSION IF NOT EXISTS vector;
""",
}
END_TEMPLATES = {
    "duckdb": """
SELECT CASE WHEN count(*) < {n_names} THEN error({failed}) ELSE 'created' END AS names FROM (
"""
    + USED_NAMES
    + "COMMIT;\n",
    "postgres": "\nCOMMIT;\n",
}


def transaction(dialect: str, created: Sequence[str]) -> tuple[str, str]:
    """Return the statements that start and end the transaction of a script.

    The first statements raise an error in the database if it has an object with the name of one
    that the script creates. The last statements raise an error if an object was not created.

    Parameters
    ----------
    dialect : {"duckdb", "postgres"}
        The database.
    created : sequence of str
        Names of the tables and functions that the script creates.
    """
    taken = quote_string(
        f"There already is a table, view or function named {' or '.join(map(repr, created))}. "
        "Nothing was changed. Remove it if an earlier run of this script created it. Otherwise, "
        "rename it, or export the model for a table with another name."
    )
    names = [quote_string(each) for each in created]
    if dialect == "duckdb":  # DuckDB ignores the case of names, by rules of its own
        names = [f"lower({each})" for each in names]
    parts = {
        "names": ", ".join(names),
        "n_names": len(created),
        "taken": taken,
        "failed": quote_string("A statement of this script failed. Nothing was changed."),
        "quote": dollar_quote("".join((*names, taken))),
    }
    return START_TEMPLATES[dialect].format(**parts), END_TEMPLATES[dialect].format(**parts)
