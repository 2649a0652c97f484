"""Download a data set from OpenML."""

import warnings
from dataclasses import replace
from http.client import HTTPException
from typing import Any
from urllib.error import URLError

from dimetric._errors import error_text
from dimetric.data._dataset import DataSet
from dimetric.data._tables import read_table

N_RETRIES = 1
SECONDS_BETWEEN_RETRIES = 0.1  # scikit-learn rejects 0


def from_openml(name: str, missing: str) -> DataSet | str:
    """Return a data set of OpenML, or the end of a sentence that says why there is none.

    Parameters
    ----------
    name : str
        Name of the data set. If there are several versions, the first active one is used.
    missing : {"drop", "impute", "raise"}
        How to treat missing values, as in :func:`~dimetric.data.read_table`.
    """
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            bunch: Any = fetch_openml(
                name, as_frame=True, n_retries=N_RETRIES, delay=SECONDS_BETWEEN_RETRIES
            )
        except (OSError, HTTPException, ValueError, ImportError) as error:
            return _failure(error)
    target = bunch.target_names[0] if len(bunch.target_names) == 1 else None
    data = read_table(bunch.frame, target, missing=missing, name=name)
    notes = [str(each.message) for each in caught if "Retrying" not in str(each.message)]
    return replace(data, notes=(f"From OpenML: {bunch.url}", *notes, *data.notes))


def _failure(error: Exception) -> str:
    """Return the end of a sentence that says why a data set could not be downloaded."""
    if type(error).__name__ == "OpenMLError":  # scikit-learn does not export this class
        return ", and none on OpenML"
    if isinstance(error, URLError) and isinstance(error.reason, OSError):
        error = error.reason
    text = getattr(error, "strerror", None) or error_text(error)
    if isinstance(error, OSError):
        return f", and OpenML could not be reached ({text})"
    return f", and the one on OpenML cannot be used ({text})"
