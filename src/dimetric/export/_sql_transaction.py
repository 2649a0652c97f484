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
SELECT CASE WHEN count(*) > 0
  THEN error({before} || string_agg(DISTINCT name, ', ' ORDER BY name) ||
    {after})
  ELSE 'unused' END AS names FROM (
"""
    + USED_NAMES,
    "postgres": """
BEGIN TRANSACTION;
DO {quote}
DECLARE
  taken text;
BEGIN
  SELECT string_agg(name, ', ' ORDER BY name) INTO taken FROM (
    SELECT relname::text AS name FROM pg_class
    WHERE relname IN ({names}) AND pg_table_is_visible(oid)
    UNION SELECT proname::text FROM pg_proc
    WHERE proname IN ({names}) AND pg_function_is_visible(oid)
  ) AS used;
  IF taken IS NOT NULL THEN
    RAISE EXCEPTION USING MESSAGE = {before} || taken ||
      {after};
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

    The first statements make the script fail if a name that it creates is already used. In DuckDB,
    the last statements make it fail if an object was not created.

    Parameters
    ----------
    dialect : {"duckdb", "postgres"}
        The database.
    created : sequence of str
        Names of the tables and functions that the script creates.
    """
    before = quote_string("These names are already in use: ")
    after = quote_string(
        ". Nothing was changed. Remove these objects if an earlier run of this script created "
        "them. Otherwise, rename them, or export the model for a table with another name."
    )
    names = [quote_string(name) for name in created]
    if dialect == "duckdb":  # DuckDB ignores case in names, and only its lower() has the same rules
        names = [f"lower({name})" for name in names]
    parts = {
        "names": ", ".join(names),
        "n_names": len(created),
        "before": before,
        "after": after,
        "failed": quote_string("A statement of this script failed. Nothing was changed."),
        "quote": dollar_quote("".join((*names, before, after))),
    }
    return START_TEMPLATES[dialect].format(**parts), END_TEMPLATES[dialect].format(**parts)
