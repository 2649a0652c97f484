"""Texts of the help: an overview for newcomers, and a line and examples for each verb."""

# The lines of "dimetric --help". They fit into 80 columns, unlike some docstrings.
SUMMARIES = {
    "inspect": "Show how each column of a table would be used.",
    "compare": "Find the best distance for a table, and write a report.",
    "fit": "Learn a distance from a table, and write the model.",
    "transform": "Map rows to coordinates under the learned distance.",
    "predict": "Predict the class or number of each row of a table.",
    "embed": "Draw a map of the rows of a table.",
    "neighbors": "Show the rows that are most similar to a row.",
    "adapt": "Learn a map of embeddings for retrieval, and write a report.",
    "info": "Describe a model file.",
    "export": "Convert a model for use in other programs.",
    "reproduce": "Repeat a published experiment.",
}

EXAMPLES = {
    "inspect": ("dimetric inspect customers.csv",),
    "compare": (
        "dimetric compare customers.csv --target churn",
        "dimetric compare visits.csv --target ill --groups patient --budget 300",
    ),
    "fit": (
        "dimetric fit wine.csv --target class --out wine.dimetric",
        "dimetric fit wine.csv --learner PCA --option n_components=2 --out p.dimetric",
    ),
    "transform": ("dimetric transform wine.dimetric new.csv --keep id --out coordinates.parquet",),
    "predict": (
        "dimetric predict wine.dimetric new.csv --out classes.csv",
        "dimetric predict wine.dimetric new.csv --probabilities --json",
    ),
    "embed": (
        "dimetric embed wine.csv --color class",
        "dimetric embed wine.csv --method pca --out map.svg --out map.csv",
    ),
    "neighbors": ("dimetric neighbors wine.dimetric wine.csv --row 5",),
    "adapt": (
        "dimetric adapt --beir scifact --out scifact.dimetric",
        "dimetric adapt --beir shop --groups topic --sides both --out shop.dimetric",
    ),
    "info": ("dimetric info wine.dimetric",),
    "export": (
        "dimetric export wine.dimetric --out wine.onnx",
        "dimetric export wine.dimetric --to duckdb --table wines --out wine.sql",
    ),
    "reproduce": ("dimetric reproduce --experiment 1 --only iris,wine --out results",),
}

OVERVIEW = """dimetric learns from a table which rows are similar.

Start with your own table, for example customers.csv:

  dimetric inspect customers.csv
      Show how each column would be used.
  dimetric compare customers.csv --target churn
      Find the distance that predicts churn best. Write a report and a model.

Then use the model:

  dimetric predict MODEL new.csv --out predictions.csv
      Predict churn for new rows.
  dimetric neighbors MODEL customers.csv --row 5
      Show the rows that are most similar to row 5.

All commands: dimetric --help. Options of a command: dimetric compare --help.
"""


def help_epilog(verb: str) -> str | None:
    r"""Return the examples of a verb for the end of its help text.

    Examples
    --------
    >>> help_epilog("info")
    '\x08\nExamples:\n  dimetric info wine.dimetric'
    """
    if verb not in EXAMPLES:
        return None
    lines = [f"  {each}" for each in EXAMPLES[verb]]
    return "\n".join(["\b", "Examples:", *lines])  # \b keeps the line breaks
