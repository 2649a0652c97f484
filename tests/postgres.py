"""Run SQL scripts on a PostgreSQL server with pgvector, if the tests have one."""

import os
import subprocess

import pytest

# DIMETRIC_POSTGRES is the libpq connection string of a test server.
needs_postgres = pytest.mark.skipif(
    "DIMETRIC_POSTGRES" not in os.environ, reason="DIMETRIC_POSTGRES names no server with pgvector"
)


def in_postgres(script, *, stop=True, after=""):
    """Run a script in a temporary schema, and return the words that it prints.

    With stop=False, psql continues after errors, which are returned, too. `after` is a script that
    runs afterwards in another connection.
    """
    psql = ["psql", os.environ["DIMETRIC_POSTGRES"], "-v", f"ON_ERROR_STOP={int(stop)}", "-Atq"]
    schema = f"dimetric_test_{os.getpid()}"  # tests may run in parallel
    search = f"SET search_path = {schema}, public;\n"
    before = (
        "DO 'BEGIN PERFORM pg_advisory_lock(77); END'; SET client_min_messages = warning; "
        "CREATE EXTENSION IF NOT EXISTS vector SCHEMA public; "
        "DO 'BEGIN PERFORM pg_advisory_unlock(77); END'; "
        f"CREATE SCHEMA {schema}; {search}"
    )
    drop = f"SET client_min_messages = warning; DROP SCHEMA {schema} CASCADE;"
    try:
        done = subprocess.run(
            psql, input=before + script, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not stop, done.stderr
        later = subprocess.run(
            psql, input=search + after, capture_output=True, text=True, check=True
        )
    finally:
        subprocess.run(psql, input=drop, capture_output=True, text=True, check=True)
    return (done.stdout + ("" if stop else done.stderr) + later.stdout).split()
