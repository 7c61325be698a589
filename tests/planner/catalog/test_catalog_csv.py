from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import (
    LIMITS,
    TABLE_NAMES,
    TABLES,
    CatalogColumn,
    Offer,
    catalog_page,
    csv_of,
    parse_csv,
    table_of,
)
from planner.catalog._rows import CellError, cell_value
from tests.each import each

HEADER = (
    "provider,region,instance,accelerator,accelerators,terms,price_per_hour,currency,"
    "billing_increment_s,as_of,source_url,note"
)
GOOD = "AWS,us-east-1,p5,h100-sxm,8,on demand,55.04,USD,1,2026-11-09,https://aws.amazon.com,"
PRICE = next(c for c in TABLES["prices"] if c.name == "price_per_hour")
NOTE = next(c for c in TABLES["prices"] if c.name == "note")
DATE = next(c for c in TABLES["prices"] if c.name == "as_of")


def file(*rows: str, header: str = HEADER) -> bytes:
    return "\n".join((header, *rows)).encode()


def result(*rows: str, header: str = HEADER) -> list[str]:
    return [str(p) for p in parse_csv("prices", file(*rows, header=header)).problems]


# -- one cell ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["2.49", "+2.49", " 2.49 ", "249e-2", "0.249E1"])
def test_a_number_is_read_however_it_is_written(text: str) -> None:
    assert cell_value(PRICE, text) == pytest.approx(2.49)


@each(
    "text",
    ["nan", "inf", "-inf", "1e400", "1,5", "1 000", "1_000", "0x10", "=1+1", "2.49 USD", "٣"],
)
def test_what_is_no_number_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(CellError, match=r"not a number|must be from"):
        cell_value(PRICE, text)


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-2", "@SUM(A1)"])
def test_a_text_that_a_spreadsheet_would_run_is_refused(text: str) -> None:
    with pytest.raises(CellError, match="formula"):
        cell_value(NOTE, text)


@each("text", ["2026-02-30", "2026-13", "21.11.2026", "2026", "1e4", "2026-1-1"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(CellError, match="Write YYYY-MM-DD or YYYY-MM"):
        cell_value(DATE, text)


def test_a_month_is_its_first_day() -> None:
    assert str(cell_value(DATE, "2026-11")) == "2026-11-01"


@given(st.text(max_size=300), st.sampled_from([c for t in TABLES.values() for c in t]))
def test_any_text_in_any_column_is_a_value_or_a_sentence(text: str, column: CatalogColumn) -> None:
    try:
        cell_value(column, text)
    except CellError as error:
        result = str(error)
    else:
        result = "."
    assert result.endswith(".")
    assert len(result) < 400


# -- a file --------------------------------------------------------------------------------------


def test_a_bad_cell_is_reported_by_row_file_and_column_and_the_other_rows_are_kept() -> None:
    bad = GOOD.replace("55.04", "-3").replace("p5", "p6")
    parsed = parse_csv("prices", file(GOOD, bad, GOOD.replace("p5", "p7")))
    assert [str(p) for p in parsed.problems] == [
        "Row 3 of prices.csv: price_per_hour is -3. It must be from 0.001 to 1e+06 currency/h; "
        "look at the unit."
    ]
    assert [o.instance for o in parsed.records if isinstance(o, Offer)] == ["p5", "p7"]


def test_all_that_is_wrong_with_a_row_is_reported_at_once() -> None:
    bad = "AWS,,p5,h100-sxm,8.5,hourly,free,usd,1,never,ftp://x,=1+1"
    assert len(result(bad)) == 8


def test_the_same_offer_twice_is_reported_and_the_first_is_kept() -> None:
    parsed = parse_csv("prices", file(GOOD, GOOD.replace("55.04", "1")))
    (problem,) = parsed.problems
    assert str(problem).startswith("Row 3 of prices.csv is 'AWS / us-east-1 / p5 / on demand' like")
    assert [o.price_per_hour for o in parsed.records if isinstance(o, Offer)] == [55.04]


def test_columns_that_mean_nothing_are_reported_once_and_cost_no_row() -> None:
    parsed = parse_csv("prices", file(f"{GOOD},1,2", header=f"{HEADER},colour,size"))
    assert len(parsed.records) == len(parsed.problems) == 1
    assert "unknown columns: 'colour', 'size'" in str(parsed.problems[0])


@each(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (b"PK\x03\x04\0\0workbook", "zero bytes"),
        (HEADER.encode() + b"\n\xff\xfe", "not UTF-8 from byte"),
        (file(GOOD).decode().encode("utf-16"), "zero bytes"),
        (HEADER.replace(",", ";").encode(), "semicolons"),
        (b"provider,region\nA,b", "lacks columns that every row needs: instance, accelerator"),
        (file(GOOD, header=f"{HEADER},note"), "names a column twice: 'note'"),
        (b"," * 100 + b"\n", "101 columns; at most 64"),
        (b'"provider', "is not a CSV file"),
        (b"x" * 2_000_001, "larger than 2,000,000 bytes"),
        (b'"' + b"x" * 200_000 + b'"', "is not a CSV file"),
    ],
)
def test_a_file_nothing_can_be_read_of_is_refused_with_the_reason(content: bytes, why: str) -> None:
    parsed = parse_csv("prices", content, file="mine.csv")
    assert parsed.records == ()
    assert str(parsed.problems[0]).startswith("mine.csv ")
    assert why in str(parsed.problems[0])
    assert table_of(content) in (None, "prices")


def test_a_quote_that_is_never_closed_costs_no_row_before_it() -> None:
    parsed = parse_csv("prices", file(GOOD, f'"{GOOD}', GOOD))
    assert len(parsed.records) == 1
    assert "never closed" in str(parsed.problems[0])


def test_a_line_break_inside_a_cell_is_reported_and_costs_only_its_row() -> None:
    parsed = parse_csv("prices", file(GOOD.replace("p5", '"p\n5"'), GOOD))
    assert len(parsed.records) == 1
    assert str(parsed.problems[0]).startswith("Row 2 of prices.csv: instance contains a line break")


def test_too_many_rows_and_cells_are_cut_off_and_reported() -> None:
    most = LIMITS["rows"].value
    rows = [GOOD.replace("p5", f"p{i}") for i in range(most + 10)]
    parsed = parse_csv("prices", file(*rows))
    assert len(parsed.records) == most
    assert f"at most {most:,} rows" in str(parsed.problems[-1])
    assert "has 1001 characters" in result(GOOD + "x" * 1001)[0]


def test_a_row_with_more_cells_than_columns_is_not_guessed_at() -> None:
    assert result(f"{GOOD},more") == [
        "Row 2 of prices.csv has 13 cells under 12 columns. Quote what holds a comma."
    ]


def test_empty_lines_are_nothing_and_a_byte_order_mark_is_no_letter() -> None:
    content = b"\xef\xbb\xbf" + file("", GOOD, ",,,,", "").replace(b"\n", b"\r\n")
    parsed = parse_csv("prices", content)
    assert len(parsed.records) == 1
    assert parsed.problems == ()


def test_no_more_problems_are_reported_than_help() -> None:
    rows = [GOOD.replace("55.04", "-1")] * (LIMITS["problems"].value + 50)
    lines = result(*rows)
    assert len(lines) == LIMITS["problems"].value
    assert lines[-1] == "prices.csv has 51 more problems."


@given(st.binary(max_size=2_000), st.sampled_from(TABLE_NAMES))
def test_any_bytes_have_rows_or_problems_and_never_raise(content: bytes, name: str) -> None:
    parsed = parse_csv(name, content)  # type: ignore[arg-type]
    assert parsed.records or parsed.problems


@given(st.binary(max_size=300))
def test_any_bytes_after_a_good_row_leave_it_whole(tail: bytes) -> None:
    parsed = parse_csv("prices", file(GOOD) + b"\n" + tail)
    assert all(isinstance(record, Offer) for record in parsed.records)
    try:
        tail.decode()
    except UnicodeDecodeError:
        return
    if b"\0" not in tail:
        assert parsed.records[0] == parse_csv("prices", file(GOOD)).records[0]


NUMBERS = st.floats(0.001, 1e6)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 ,;.\"'é]{0,20}[a-z]", fullmatch=True)


@given(NUMBERS, NAMES, st.sampled_from(["on demand", "spot"]), st.dates())
def test_what_is_written_is_read_back_as_it_was(
    price: float, name: str, terms: str, day: object
) -> None:
    (first,) = parse_csv("prices", file(GOOD)).records
    values = {f: getattr(first, f) for f in Offer.__slots__}
    values |= {"price_per_hour": price, "provider": name, "terms": terms, "as_of": day}
    offer = Offer(**values)
    parsed = parse_csv("prices", csv_of("prices", [offer]).encode())
    assert parsed.problems == ()
    assert parsed.records == (offer,)


# -- rules between columns, and the page ---------------------------------------------------------


def test_a_number_without_its_date_or_source_is_reported() -> None:
    rows = "id,country,price_usd_per_kwh,carbon_kg_per_kwh,carbon_as_of,carbon_source_url\n"
    row = "DE,Germany,0.2,0.3,2024-01,https://x.org"
    parsed = parse_csv("electricity", (rows + row).encode())
    assert {p.column for p in parsed.problems} == {"customer", "price_as_of", "price_source_url"}


def test_a_country_without_any_number_is_no_row() -> None:
    parsed = parse_csv("electricity", b"id,country\nDE,Germany")
    assert "Give one of them" in str(parsed.problems[0])


def test_a_launch_after_the_look_at_it_is_reported() -> None:
    row = b"id,name,maker,kind,devices,launched,source_url,as_of\nx,X,M,gpu,1,2027-01,https://x.org,2026-01"
    (problem,) = parse_csv("hardware", row).problems
    assert "launched is 2027-01-01, after as_of 2026-01-01" in str(problem)


def test_a_table_is_known_by_its_header() -> None:
    assert table_of(file(GOOD)) == "prices"
    assert table_of(b"a,b\n1,2") is None


def test_the_page_of_the_docs_names_every_column_and_limit() -> None:
    page = catalog_page()
    for columns in TABLES.values():
        assert all(f"`{column.name}`" in page for column in columns)
    assert all(f"{limit.value:,}" in page for limit in LIMITS.values())


def test_every_unit_in_a_column_name_is_its_unit() -> None:
    units = {"_bytes": "bytes", "_bytes_per_s": "bytes/s", "_flops_per_s": "FLOP/s",
             "_operations_per_s": "operations/s", "_watts": "W", "_usd": "USD", "_s": "s",
             "_usd_per_kwh": "USD/kWh", "_kg_per_kwh": "kg CO2e/kWh"}  # fmt: skip
    for column in (c for t in TABLES.values() for c in t if c.kind in ("number", "whole")):
        named = [u for suffix, u in sorted(units.items(), key=lambda i: len(i[0]))
                 if column.name.endswith(suffix)]  # fmt: skip
        assert not named or named[-1] == column.unit, column.name


def test_a_date_after_tomorrow_is_refused_with_today() -> None:
    day = date(2026, 11, 21)
    assert len(parse_csv("prices", file(GOOD), today=day).records) == 1
    parsed = parse_csv("prices", file(GOOD.replace("2026-11-09", "2099-01-01")), today=day)
    assert not parsed.records
    assert [str(p) for p in parsed.problems] == [
        "Row 2 of prices.csv: as_of is 2099-01-01, after today, 2026-11-21. Enter the day on which "
        "it was read."
    ]
