"""The parts of a table encoder that a model file may hold, in the notation of ``_schema``."""

COLUMN_RECORDS = {
    "DateColumn": "dimetric.data._kinds._dates",
    "TimeColumn": "dimetric.data._kinds._dates",
    "DurationColumn": "dimetric.data._kinds._durations",
    "QuantityColumn": "dimetric.data._kinds._quantities",
    "FrequencyColumn": "dimetric.data._kinds._texts",
    "WordsColumn": "dimetric.data._kinds._texts",
}
COLUMN_SCHEMA = {
    "DateColumn": {"order": "text", "utc": "flag", "parts": "several text", "origin": "number"},
    "TimeColumn": {},
    "DurationColumn": {},
    "QuantityColumn": {"unit": "text", "decimal": "text", "factors": "dict"},
    "FrequencyColumn": {
        "values": "several text",
        "counts": "several count",
        "is_complete": "flag",
        "n_frequent": "count",
    },
    "WordsColumn": {"n_hashed": "count", "characters": "flag"},
}
# Models that were saved before columns had encodings have neither encodings_ nor imputes_.
ENCODER_SCHEMA = {
    "categories_": "list",
    "fills_": "list",
    "notes_": "list",
    "encodings_": "maybe dict",
    "imputes_": "maybe flag",
}
