"""KEEL files: variants of the format, round trips and errors."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from keel_files import write_keel
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from dimetric.data import read_keel

TEXT = """\
% a comment
@relation  tiny set
@attribute At1 real[0.0,1.0]
@attribute Size integer [1, 9]
@Attribute 'long name' {red, green,blue}
@attribute unused real [0, 1]
@attribute Class{0,1}
@inputs At1, Size, 'long name'
@outputs Class
@data
0.5, 3, red, 0.1, 0
% between rows

0.25,9,blue,0.2,1
1e-3, 1, red, 0.3, 1
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tiny.dat"


def test_read_keel(path):
    path.write_text(TEXT)
    data = read_keel(path)
    assert data.name == "tiny set"
    names = ("At1", "Size", "long name=red", "long name=green", "long name=blue")
    assert data.feature_names == names
    assert_array_equal(data.X, [[0.5, 3, 1, 0, 0], [0.25, 9, 0, 0, 1], [1e-3, 1, 1, 0, 0]])
    assert_array_equal(data.y, ["0", "1", "1"])
    assert data.target_name == "Class"
    assert data.notes == ("Column 'long name' is one-hot encoded (3 categories).",)
    assert read_keel(path, name="other").name == "other"


def test_without_inputs_and_outputs(path):
    path.write_text(
        "@relation t\n@attribute a real[0,1]\n@attribute b real[0,1]\n@data\n0,1\n1,0\n"
    )
    data = read_keel(path)
    assert data.feature_names == ("a",)
    assert_array_equal(data.y, [1.0, 0.0])


def test_missing_values(path):
    path.write_text(TEXT.replace("0.25,9", "?,<null>"))
    with pytest.warns(UserWarning, match="Dropped 1 of 3 rows"):
        assert len(read_keel(path).X) == 2
    assert_array_equal(read_keel(path, missing="impute").X[1], [0.2505, 2, 0, 0, 1])
    with pytest.raises(ValueError, match="Missing values in 1 of 3 rows"):
        read_keel(path, missing="raise")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
               elements=st.floats(-1e300, 1e300)),
    st.sampled_from(["texts", "integers", "reals"]),
)  # fmt: skip
def test_round_trip(path, X, kind):
    n = len(X)
    y = {
        "texts": np.array(["setosa", "iris x"])[np.arange(n) % 2],
        "integers": np.arange(n),
        "reals": np.linspace(-1, 1, n) / 3,
    }[kind]
    names = [f"length {i}" for i in range(X.shape[1])]
    write_keel(path, X, y, feature_names=names, target_name="kind", relation="a b")
    data = read_keel(path)
    assert_array_equal(data.X, X)
    assert_array_equal(data.y, y if kind == "reals" else y.astype(str))
    assert data.feature_names == tuple(names)
    assert (data.target_name, data.name) == ("kind", "a b")


def test_iris(path):
    X, y = load_iris(return_X_y=True)
    write_keel(path, X, y, relation="iris")
    assert "@attribute x0 real [4.3, 7.9]" in path.read_text()
    assert_array_equal(read_keel(path).X, X)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("@data", "@dat", "line 10: '@dat' is not a line of a KEEL header"),
        ("real[0.0,1.0]", "string", "line 3: '@attribute At1 string' is not a valid attribute"),
        ("real[0.0,1.0]", "", "line 3: .* is not a valid attribute"),
        ("0.5, 3", "0.5, 3, 4", "line 11: expected 5 values, one for each attribute, but found 6"),
        (
            "0.5, 3",
            "half, 3",
            "line 11: 'half' is not a number, but attribute 'At1' is numeric",
        ),
        (
            "3, red",
            "3, pink",
            r"line 11: 'pink' is not a value of attribute 'long name'. Its declared values are "
            r"\['red'",
        ),
        ("unused real", "Size real", "line 6: duplicate attribute 'Size'"),
        ("@outputs Class", "@outputs Klass", "lists 'Klass' in @inputs or @outputs"),
        ("@outputs Class", "@outputs Class, Size", "has 2 outputs"),
        (TEXT[TEXT.index("0.5, 3") :], "", "has no rows after @data"),
        (TEXT, "", "not a KEEL file: it has no @data"),
        (TEXT, "@data\n1\n", "has no @attribute before @data"),
        (TEXT, "1,2,3\n", "line 1: '1,2,3' is not a line of a KEEL header"),
    ],
)
def test_invalid_files_raise(path, old, new, sentence):
    assert old in TEXT
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ValueError, match=sentence):
        read_keel(path)


def test_missing_and_binary_files_raise(path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*tiny.dat"):
        read_keel(path)
    path.write_bytes(b"\x00\xff\xfe\xfa")
    with pytest.raises(ValueError, match=r"line 1: .* is not a line of a KEEL header"):
        read_keel(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encodings(path, encoding):
    text = TEXT.replace("@relation  ", "@relation\t").replace("tiny", "café")
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    assert read_keel(path).name == "café set"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.5, 3, red, 0.1, 0", "0.5, 3, red, 0.1, 0 % the first, of three"),
        ("@inputs At1, Size, 'long name'", '@inputs At1, Size, "long name"'),
        ("{red, green,blue}", "{'red', \"green\",blue}"),
        ("0.5, 3, red", "0.5, 3, 'red'"),
    ],
)
def test_quotes_and_comments(path, old, new):
    path.write_text(TEXT)
    expected = read_keel(path)
    assert old in TEXT
    path.write_text(TEXT.replace(old, new))
    data = read_keel(path)
    assert_array_equal(data.X, expected.X)
    assert_array_equal(data.y, expected.y)
    assert data.feature_names == expected.feature_names


def test_attribute_names(path):
    path.write_text(
        "@relation t\n@attribute x[1] real [0,1]\n@attribute 'b, c' real [0,1]\n"
        "@attribute d real\n@attribute y {it's, 50 %}\n@inputs 'b, c', x[1]\n@outputs y\n"
        "@data\n0,1,2,it's\n1,0,2,50 %\n"
    )
    data = read_keel(path)
    assert data.feature_names == ("b, c", "x[1]")
    assert_array_equal(data.y, ["it's", "50 %"])
    path.write_text(path.read_text().replace("'b, c', x[1]", "d x[1]"))
    assert read_keel(path).feature_names == ("d", "x[1]")


@pytest.mark.parametrize("name", ["b, c", "it's", 'an "x"', "x[1]", "a{", "%x", "'q'"])
def test_special_characters_in_names_are_kept(path, name):
    write_keel(path, [[1.0], [2.5]], ["it's", "é"], feature_names=[name], relation="")
    data = read_keel(path)
    assert data.feature_names == (name,)
    assert_array_equal(data.y, ["it's", "é"])


def test_numeric_looking_categories_stay_categories(tmp_path):
    path = tmp_path / "a.dat"
    path.write_text(
        "@relation a\n@attribute kind {1, 2, 3}\n@attribute class {x, y}\n@data\n1, x\n2, y\n"
    )
    data = read_keel(path)
    assert data.feature_names == ("kind=1", "kind=2", "kind=3")
    assert data.X.tolist() == [[1, 0, 0], [0, 1, 0]]
