"""Parts of ``bar.py``: the works to measure, their processes, the marks and the report."""
