"""Columns of dates, times, durations, numbers with units, and texts."""

import datetime
import zlib

import numpy as np
import pandas as pd
import pytest
from model_files import header_and_tensors, rewrite
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from dimetric import PCA, load, save
from dimetric.data import TableEncoder
from dimetric.data._fold_encoder import coded_table
from dimetric.data._kinds._dates import DateColumn
from dimetric.data._kinds._detect import detect
from dimetric.data._kinds._quantities import QuantityColumn


def column(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def encoded(values, missing="keep"):
    """Return the features of a column by name."""
    frame = {"v": values if isinstance(values, np.ndarray) else column(values)}
    encoder = TableEncoder(missing=missing).fit(frame)
    names = encoder.get_feature_names_out().tolist()
    return dict(zip(names, encoder.encode(frame)[0].T, strict=True))


DAYS = pd.date_range("2019-12-20", periods=60, freq="17D")


@pytest.mark.parametrize(
    "written",
    [
        DAYS.strftime("%Y-%m-%d").tolist(),
        DAYS.strftime("%Y/%m/%d").tolist(),
        DAYS.strftime("%d.%m.%Y").tolist(),
        DAYS.strftime("%d/%m/%y").tolist(),
        DAYS.strftime("%m/%d/%Y").tolist(),
        DAYS.strftime("%d %b %Y").tolist(),
        DAYS.strftime("%B %d, %Y").tolist(),
        DAYS.strftime("%a, %d %b %Y").tolist(),
        DAYS.strftime("%d-%b-%y").tolist(),
        DAYS.strftime("%Y-%m-%dT00:00:00Z").tolist(),
        [each.date() for each in DAYS],
        list(DAYS),
        DAYS.to_numpy(),
        DAYS.to_numpy().astype("datetime64[s]"),
    ],
)
def test_dates_are_read_as_pandas_reads_them(written):
    found = encoded(written)
    angle = 2 * np.pi * DAYS.month / 12, 2 * np.pi * DAYS.day_of_week / 7
    expected = {
        "v year": DAYS.year,
        "v month (sin)": np.sin(angle[0]),
        "v month (cos)": np.cos(angle[0]),
        "v day": DAYS.day,
        "v weekday (sin)": np.sin(angle[1]),
        "v weekday (cos)": np.cos(angle[1]),
        "v elapsed days": (DAYS - DAYS[0]).days,
    }
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert_allclose(found[name], values, err_msg=name, atol=1e-12)


def test_december_is_as_near_to_january_as_to_november():
    found = encoded(["2021-11", "2021-12", "2021-01", "2020-12"])
    assert list(found) == ["v year", "v month (sin)", "v month (cos)", "v elapsed days"]
    point = np.stack([found["v month (sin)"], found["v month (cos)"]], axis=1)
    assert_allclose(np.linalg.norm(point[1] - point[2]), np.linalg.norm(point[1] - point[0]))


def test_quarters():
    found = encoded(["2021-Q1", "2021-Q4", "2020-Q2"])
    assert_array_equal(found["v elapsed days"], [275, 548, 0])
    assert_allclose(encoded(["Q1 2021", "Q3 2021"])["v elapsed days"], [0, 181])


def test_constant_parts_of_dates_are_left_out():
    found = encoded(["2021-03-05 08:00", "2021-03-06 20:00", "2021-03-07 08:00"])
    assert list(found) == ["v day", "v weekday (sin)", "v weekday (cos)", "v elapsed days",
                           "v hour (sin)", "v hour (cos)"]  # fmt: skip
    assert_array_equal(found["v elapsed days"], [0, 1, 2])
    assert_allclose(found["v hour (sin)"], np.sin(np.pi * np.array([16, 40, 16]) / 24))


def test_time_zones():
    same = encoded(["2021-03-05T23:00+02:00", "2021-03-06T01:00+02:00"])
    assert_array_equal(same["v day"], [5, 6])  # local time
    mixed = encoded(["2021-03-05T23:00+02:00", "2021-03-06T01:00-05:00"])
    assert_allclose(mixed["v hour (cos)"], np.cos(2 * np.pi * np.array([21, 6]) / 24))  # UTC
    aware = pd.DataFrame({"v": pd.to_datetime(["2021-03-05 23:00", "2021-03-06 00:00"], utc=True)})
    assert "v hour (sin)" in TableEncoder().fit(aware).get_feature_names_out()


def test_the_whole_column_decides_on_day_and_month():
    assert_array_equal(encoded(["01/02/2021", "13/02/2021"])["v day"], [1, 13])
    assert_array_equal(encoded(["01/02/2021", "01/13/2021"])["v day"], [2, 13])
    first_days = encoded(["01/02/2021", "01/03/2021", "01/04/2021"])
    assert_array_equal(np.diff(first_days["v elapsed days"]), [28, 31])
    assert "day and month" in detect("v", column(["01/02/2021", "03/04/2021"])).note


def test_impossible_dates_are_missing():
    values = [f"2021-01-{day:02}" for day in range(1, 29)] + ["9999-12-31", "0000-00-00"]
    found = detect("v", column(values))
    assert (
        "2 values cannot be read as dates and are treated as missing: '9999-12-31', '0000-00-00'"
        in found.note
    )
    assert np.isnan(encoded(values)["v day"]).tolist() == [False] * 28 + [True] * 2


def test_times_and_durations():
    times = encoded(["23:59", "0:01", "12:00 PM", "6:00 pm"])
    assert list(times) == ["v hour (sin)", "v hour (cos)"]
    assert_allclose(times["v hour (sin)"][2:], [0, -1], atol=1e-12)
    assert_allclose(times["v hour (cos)"][0], times["v hour (cos)"][1])
    assert_allclose(encoded(["1:30:00", "36:15"])["v hours"], [1.5, 36.25])
    assert_allclose(encoded(["2 days 03:00:00", "1 day, 0:30:00"])["v hours"], [51, 24.5])
    assert_allclose(encoded(["1h 30m", "45m", "PT2H"])["v hours"], [1.5, 0.75, 2])
    delta = pd.to_timedelta(["1h", None, "2 days"]).to_numpy()
    assert_array_equal(encoded(delta)["v hours"], [1, np.nan, 48])
    assert list(encoded([datetime.time(3), datetime.time(9)])) == list(times)


@pytest.mark.parametrize(
    ("texts", "unit", "numbers"),
    [
        (["12 %", "12.5%", "-3%"], "%", [12, 12.5, -3]),
        (["12,5 %", "7 %"], "%", [12.5, 7]),
        (["$1,200", "$3", "($120)"], "USD", [1200, 3, -120]),
        (["1.200 EUR", "20 EUR"], "EUR", [1200, 20]),
        (["1.200,50 €", "20 €"], "EUR", [1200.5, 20]),
        (["€ 3.50", "€ 12.00"], "EUR", [3.5, 12]),
        (["12 kg", "180kg", "1.250 kg"], "kg", [12, 180, 1.25]),
        (["2 kg", "3 kg", "500 g"], "kg", [2, 3, 0.5]),
        (["10 years", "6 months", "2 years"], "years", [10, 0.5, 2]),
        (["12", "14 kg", "15 kg"], "kg", [12, 14, 15]),
        (["1'200 CHF", "80 CHF"], "CHF", [1200, 80]),
        (["20 °C", "-5 °C"], "°C", [20, -5]),
        (["1.5k", "2k", "1M", "500"], "k", [1.5, 2, 1000, 0.5]),
        (["50 km/h", "120 km/h"], "km/h", [50, 120]),
    ],
)
def test_quantities_are_numbers(texts, unit, numbers):
    found = detect("v", column(texts)).encoding
    assert isinstance(found, QuantityColumn)
    assert found.unit == unit
    assert_allclose(encoded(texts)["v"], numbers)


@pytest.mark.parametrize(
    "texts",
    [
        ["12a", "12b", "13c"],
        ["1st", "2nd", "3rd"],
        ["yes", "no", "no"],
        ["18-25", "26-35"],
        ["01067", "10115", "80331"],
        ["A1", "B2"],
        ["10+ years", "3 years", "< 1 year"],
        ["x 2021-01-01", "2021-13-45"],
    ],
)
def test_other_texts_are_categories(texts):
    assert detect("v", column(texts)) == (None, "", "")


def test_different_units_are_a_problem():
    assert "EUR, USD" in detect("v", column(["3 €", "4 $"])).problem
    assert "%, kg" in detect("v", column(["3 %", "4 kg"])).problem


def many_towns(n=400):
    rng = np.random.default_rng(0)
    return np.array([f"town {int(i)}" for i in rng.pareto(0.7, n) * 10], dtype=object)


def test_frequencies_are_those_of_the_training_rows():
    towns = many_towns()
    train, test = {"v": towns[:300]}, {"v": towns[300:]}
    encoder = TableEncoder().fit(train)
    names, counts = np.unique(train["v"], return_counts=True)
    frequent = [names[i] for i in np.lexsort((names, -counts)) if counts[i] >= 6][:10]
    assert 2 < len(frequent) <= 10
    expected = ["v frequency", *(f"v={each}" for each in frequent)]
    assert encoder.get_feature_names_out().tolist() == expected
    found, unknown = encoder.encode(test)
    count = np.array([np.sum(train["v"] == each) for each in test["v"]])
    assert_allclose(found[:, 0], np.log(np.maximum(count, 1)))
    assert_array_equal(found[:, 1:], test["v"][:, None] == np.array(frequent, dtype=object))
    assert unknown == {"v": int(np.sum(count == 0))}


def test_frequencies_of_a_fold_are_those_of_its_training_rows():
    towns = many_towns()
    encoder = TableEncoder().fit({"v": towns})
    codes, fold_encoder = coded_table(encoder, {"v": towns})
    found = fold_encoder.fit(codes[:300]).transform(codes[300:])
    assert found.shape[1] == fold_encoder.n_features == len(encoder.get_feature_names_out())
    alone = TableEncoder().fit({"v": towns[:300]}).encode({"v": towns[300:]})[0]
    assert_allclose(found[:, 0], alone[:, 0])
    assert_array_equal(found[:, 1:4], alone[:, 1:4])


def test_words_are_hashed():
    texts = column([f"the parcel {i} arrived late {i % 7}" for i in range(80)])
    encoder = TableEncoder().fit({"v": texts})
    found = encoder.transform({"v": texts[:1]})[0]
    expected = np.zeros(32)
    for word in ["the", "parcel", "0", "arrived", "late", "0"]:
        checksum = zlib.crc32(word.encode())
        expected[checksum % 32] += 1 if checksum >= 2**31 else -1
    assert_allclose(found, expected / np.linalg.norm(expected))
    assert_array_equal(encoder.transform({"v": column([None])}), np.zeros((1, 32)))


def mixed_table(n=120):
    rng = np.random.default_rng(1)
    days = (np.datetime64("2020-01-01") + rng.integers(0, 900, n)).astype(str)
    return {
        "signup": column([None if i % 10 == 0 else each for i, each in enumerate(days)]),
        "rate": column([f"{each:.1f} %" for each in rng.uniform(0, 100, n)]),
        "town": many_towns(n) + np.array([str(i % 40) for i in range(n)], dtype=object),
        "comment": column([f"word{i % 9} came to word{i % 5} number {i}" for i in range(n)]),
        "at": column([f"{i % 24}:{i % 60:02}" for i in range(n)]),
        "stay": column([f"{i % 50 + 1} days 0{i % 9}:00:00" for i in range(n)]),
        "size": rng.random(n),
    }


def test_the_encoder_of_folds_and_chunks_and_files_give_the_same_features(tmp_path):
    table = mixed_table()
    encoder = TableEncoder(missing="impute").fit(table)
    features = encoder.transform(table)
    assert len(encoder.encodings_) == 6
    assert features.shape == (120, len(encoder.get_feature_names_out()))
    codes, fold_encoder = coded_table(encoder, table)
    assert fold_encoder.n_features == features.shape[1]
    assert_allclose(fold_encoder.fit_transform(codes), features)
    chunks = [
        encoder.transform({name: values[i : i + 7] for name, values in table.items()})
        for i in range(0, 120, 7)
    ]
    assert_array_equal(np.concatenate(chunks), features)
    model = make_pipeline(TableEncoder(missing="impute"), PCA(3)).fit(table)
    path = tmp_path / "m.dimetric"
    save(model, path)
    assert_array_equal(load(path).transform(table), model.transform(table))


def test_the_first_day_is_that_of_the_training_rows():
    days = column([f"2021-01-{i + 1:02}" for i in range(20)])
    codes, encoder = coded_table(TableEncoder().fit({"v": days}), {"v": days})
    found = encoder.fit(codes[10:]).transform(codes)
    assert_array_equal(found[:, -1], np.arange(20) - 10)


def test_units_of_new_values():
    encoder = TableEncoder(missing="keep").fit({"v": column(["1 kg", "2 kg", "3 kg"])})
    features, unknown = encoder.encode({"v": column(["4 kg", "5", "600 g", "7 KG", "8 cm"])})
    assert_allclose(features[:, 0], [4, 5, 0.6, 7, np.nan])
    assert unknown == {"v": 1}
    dates = TableEncoder(missing="keep").fit({"v": column(["13/04/2021", "14/05/2021"])})
    days = dates.encode({"v": column(["2021-05-03", "03/05/2021"])})[0]
    assert_array_equal(days[0], days[1])


def test_new_values_that_cannot_be_read_are_counted():
    encoder = TableEncoder(missing="keep").fit({"v": column(["1 %", "2 %", "3 %"])})
    features, unknown = encoder.encode({"v": column(["4 %", "much", "-", None])})
    assert_array_equal(features[:, 0], [4, np.nan, np.nan, np.nan])
    assert unknown == {"v": 1}
    assert "cannot be read as percentages" in encoder.unknown_note("v", 1)


@pytest.mark.parametrize(
    ("name", "field", "wrong"),
    [
        ("signup", "order", "ydm"),
        ("signup", "parts", ["century"]),
        ("signup", "parts", []),
        ("signup", "origin", "first"),
        ("rate", "decimal", ";"),
        ("rate", "factors", {"%": "1"}),
        ("town", "counts", [1]),
        ("town", "n_frequent", 10**6),
        ("comment", "n_hashed", 0),
        ("comment", "n_hashed", 10**9),
    ],
)
def test_model_files_with_wrong_encodings_are_refused(tmp_path, name, field, wrong):
    path = tmp_path / "m.dimetric"
    table = mixed_table()
    save(make_pipeline(TableEncoder(missing="impute"), PCA(2)).fit(table), path)
    header, tensors = header_and_tensors(path)
    state = header["model"]["parameters"]["steps"][0]["$tuple"][1]["state"]
    state["encodings_"][name]["fields"][field] = wrong
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match=r"encoding|must be|wrong"):
        load(path)


@pytest.mark.parametrize(
    "texts",
    [
        [f"{2005 + i % 12}/{(6 + i % 12) % 100:02}" for i in range(60)],
        [f"{2009 + i % 3}/{10 + i % 3}" for i in range(60)],
        [f"10.{i % 3}.{i % 17}" for i in range(60)],
        [f"10.{i % 12}.{10 + i % 15}" for i in range(60)],
    ],
)
def test_fiscal_years_and_versions_are_not_dates(texts):
    assert not isinstance(detect("x", np.array(texts, dtype=object)).encoding, DateColumn)


def test_indian_groups_of_digits():
    values = np.array(["₹1,23,456", "Rs. 12,34,567.50", "Rs 950"], dtype=object)
    encoding = detect("price", values).encoding
    assert encoding.codes(values)[:, 0].tolist() == [123456, 1234567.5, 950]


def test_multiples_of_amounts():
    values = np.array(["$41.4k", "$950", "($2m)", "$1.5B"], dtype=object)
    encoding = detect("price", values).encoding
    assert encoding.codes(values)[:, 0].tolist() == [41400, 950, -2e6, 1.5e9]


def test_short_dates_have_a_note():
    found = detect("day", np.array([f"21-04-{i:02}" for i in range(1, 28)], dtype=object))
    assert found.note == "dates such as '21-04-01' are read as day, month, year."


@pytest.mark.parametrize("dtype", [object, "datetime64[D]"])
def test_new_dates_whose_order_the_training_rows_do_not_show(dtype):
    days = np.datetime64("2020-01-01") + np.arange(60)
    train = pd.DataFrame({"day": days.astype(str).astype(dtype)})
    encoder = TableEncoder(missing="keep").fit(train)
    new = pd.DataFrame({"day": ["03/04/2020", "25/12/2020", "12/25/2020", "4/4/2020", "x"]})
    with pytest.warns(UserWarning, match=r"values: 2.*do not show the order of day and month"):
        found = encoder.transform(new)
    same = pd.DataFrame({"day": ["", "2020-12-25", "2020-12-25", "2020-04-04", ""]})
    assert_array_equal(found, encoder.transform(same))
    assert np.isnan(found[[0, 4]]).all()
