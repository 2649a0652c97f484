"""Data sets of OpenML, downloaded by scikit-learn from a stand-in for the server."""

import gzip
import hashlib
import io
import json
import urllib.request
from email.message import Message
from http.client import InvalidURL
from urllib.error import HTTPError, URLError
from urllib.response import addinfourl

import pytest
from numpy.testing import assert_array_equal

from dimetric.data import _named, load_data_set
from dimetric.experiments._protocol import load_published_data_set

API = "/api/v1/json/data"
ARFF = """@RELATION zebra
@ATTRIBUTE size REAL
@ATTRIBUTE 'coat' {striped, plain}
@ATTRIBUTE weight REAL
@ATTRIBUTE kind {p, q}
@DATA
1.5,striped,3,p
2.5,plain,?,q
3.5,plain,5,q
"""


class Server(urllib.request.BaseHandler):
    """Answer requests to OpenML as its server does, without a network."""

    handler_order = 100  # before the handlers that open connections

    def __init__(self):
        self.requests, self.answers = [], {}
        self.failure = None

    def add(self, name, arff, columns, target, **about):
        """Add a data set, given as the text of its ARFF file and the types of its columns."""
        listed = {"did": 62, "name": name, "version": 1, "status": "active"}
        features = [
            {
                "index": str(i), "name": column, "data_type": kind, "is_ignore": "false",
                "is_target": str(column == target).lower(), "is_row_identifier": "false",
                "number_of_missing_values": "0",
            }
            for i, (column, kind) in enumerate(columns.items())
        ]  # fmt: skip
        description = {
            "id": "62", "name": name, "version": "1", "description": "A test.", "format": "ARFF",
            "status": "active", "url": f"https://www.openml.org/data/v1/download/1/{name}.arff",
            "md5_checksum": hashlib.md5(arff.encode()).hexdigest(), **about,
        }  # fmt: skip
        qualities = [{"name": "NumberOfInstances", "value": "3"}]
        found = {
            f"{API}/list/data_name/{name}/limit/2/status/active/": {"data": {"dataset": [listed]}},
            f"{API}/62": {"data_set_description": description},
            f"{API}/features/62": {"data_features": {"feature": features}},
            f"{API}/qualities/62": {"data_qualities": {"quality": qualities}},
        }
        self.answers |= {path: json.dumps(each) for path, each in found.items()}
        self.answers[f"/data/v1/download/1/{name}.arff"] = arff

    def https_open(self, request):
        """Return the answer to a request."""
        self.requests.append(request.selector)
        if self.failure is not None:
            raise self.failure
        if request.selector not in self.answers:  # OpenML answers 412 for unknown data sets
            raise HTTPError(request.full_url, 412, "unknown", Message(), io.BytesIO())
        head = Message()
        head["Content-Encoding"] = "gzip"
        content = gzip.compress(self.answers[request.selector].encode())
        response = addinfourl(io.BytesIO(content), head, request.full_url, 200)
        response.msg = "OK"
        return response


@pytest.fixture
def server(monkeypatch, tmp_path):
    """Install the stand-in for the server, with one data set. Downloads are cached in a folder."""
    server = Server()
    columns = {"size": "numeric", "coat": "nominal", "weight": "numeric", "kind": "nominal"}
    server.add("zebra", ARFF, columns, "kind")
    monkeypatch.setattr(urllib.request, "_opener", urllib.request.build_opener(server))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("DIMETRIC_DATA", raising=False)
    monkeypatch.setattr(_named, "find_spec", lambda name: None)
    return server


def test_download(server):
    with pytest.warns(UserWarning, match="Dropped 1 of 3 rows because of missing values"):
        data = load_data_set("zebra")
    assert_array_equal(data.X, [[1.5, 1, 3], [3.5, 0, 5]])
    assert_array_equal(data.y, ["p", "q"])
    assert data.feature_names == ("size", "coat=striped", "weight")
    assert data.target_name == "kind"
    assert data.notes[0] == "From OpenML: https://www.openml.org/d/62"
    assert server.requests[0].startswith(f"{API}/list/data_name/zebra/")
    n_requests = len(server.requests)
    assert len(load_data_set("zebra", missing="impute").X) == 3
    assert len(server.requests) == n_requests  # the download is cached
    with pytest.raises(ValueError, match=r"no local data set 'zebra'\. Choose from"):
        load_data_set("zebra", openml=False)


def test_published_data_set(server):
    """The experiments download a data set, and split it at random."""
    arff = "@RELATION a\n@ATTRIBUTE x REAL\n@ATTRIBUTE kind {p, q}\n@DATA\n"
    arff += "".join(f"{i * i},{'pq'[i % 2]}\n" for i in range(40))
    server.add("sonar", arff, {"x": "numeric", "kind": "nominal"}, "kind")
    data = load_published_data_set("sonar")
    assert data.X.shape == (40, 1)
    assert data.notes == (
        "From OpenML: https://www.openml.org/d/62",
        "The published folds are missing. The samples were split at random.",
    )


def test_unknown_data_set(server):
    with pytest.raises(ValueError, match=r"no local data set 'irs', and none on OpenML\. Did you"):
        load_data_set("irs")


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (URLError(OSError(-2, "Name or service not known")), "Name or service not known"),
        (URLError(ConnectionRefusedError(111, "Connection refused")), "Connection refused"),
        (TimeoutError("timed out"), "timed out"),
        (HTTPError("https://www.openml.org", 503, "Unavailable", Message(), None),
         "HTTP Error 503: Unavailable"),
    ],
)  # fmt: skip
def test_no_network(server, failure, reason):
    server.failure = failure
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the whole message is compared
        load_data_set("zebra")
    assert str(raised.value) == (
        f"There is no local data set 'zebra', and OpenML could not be reached ({reason}). Check "
        "the network connection, or give the folder that contains the data set: folder in Python, "
        "--data on the command line."
    )
    assert len(server.requests) >= 2  # it tries again
    with pytest.raises(ValueError, match=r"could not be reached \(.*\)\. Did you mean iris"):
        load_data_set("irs")


def test_unusable_data_set(server):
    columns = {"size": "numeric", "coat": "nominal", "weight": "numeric", "kind": "nominal"}
    server.add("zebra", ARFF, columns, "kind", md5_checksum="0")
    with pytest.raises(ValueError, match=r"the one on OpenML cannot be used \(The md5 checksum"):
        load_data_set("zebra")


def test_invalid_address(server):
    server.failure = InvalidURL("URL can't contain control characters.")
    with pytest.raises(
        ValueError, match="no local data set 'a b', and the one on OpenML cannot be"
    ):
        load_data_set("a b")


def test_warnings_of_the_server_become_notes(server):
    columns = {"size": "numeric", "coat": "nominal", "weight": "numeric", "kind": "nominal"}
    server.add("zebra", ARFF, columns, "kind", warning="Look out.")
    assert "Look out." in load_data_set("zebra", missing="impute").notes[1]
