"""The retrieval estimators that a model file may hold, and their fitted attributes."""

# The entries are as in ``_schema``.
RETRIEVAL_CLASSES = {
    "RetrievalAdapter": "dimetric.learners",
    "SpaceMap": "dimetric.learners",
}
RETRIEVAL_SCHEMA = {
    "RetrievalAdapter": {
        "query_components_": "float k d",
        "document_components_": "float k d",
        "scale_": "number",
        "is_identity_": "flag",
        "_metadata": "dict",
    },
    "SpaceMap": {"components_": "float p d", "_metadata": "dict"},
}
