"""The report on a RetrievalAdapter: its record, its plot and its page."""
