"""Names of columns that other programs use for ids, vectors, texts and relevance."""

from collections.abc import Iterable, Sequence

ID_NAMES = ("_id", "id", "ids", "query_id", "document_id", "doc_id", "corpus_id", "qid", "docid")
TEXT_NAMES = ("text", "texts", "sentence", "content", "body")
TITLE_NAME = "title"
VECTOR_NAMES = ("vector", "vectors", "embedding", "embeddings", "X")
QUERY_NAMES = ("query_id", "qid", "query", "question_id", "search_id")
DOCUMENT_NAMES = (
    "corpus_id", "document_id", "doc_id", "docid", "document", "doc", "passage_id", "pid",
    "item_id", "item", "product_id",
)  # fmt: skip
GRADE_NAMES = ("score", "grade", "relevance", "rating", "rel")
CLICK_NAMES = ("clicks", "clicked", "click", "n_clicks")


def find_name(names: Iterable[str], known: Sequence[str]) -> str | None:
    """Return the first name of a table that is known, in the order of the known names.

    Case does not matter, and "-" and spaces count as "_".

    Examples
    --------
    >>> find_name(["score", "Query-ID"], QUERY_NAMES), find_name(["a"], QUERY_NAMES)
    ('Query-ID', None)
    """
    plain = {_plain(each): each for each in reversed(list(names))}
    return next((plain[_plain(each)] for each in known if _plain(each) in plain), None)


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
