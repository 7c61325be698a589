"""Accelerators, offers and electricity tariffs, with sources."""

from planner.catalog._combine import (
    STALE_MONTHS,
    Words,
    accelerator_named,
    accelerators_alike,
    is_stale,
    merged,
    offers_of,
    sole_accelerator,
    tariff_of,
    with_accelerator_ids,
    words_of,
)
from planner.catalog._records import PRECISIONS, Accelerator, Catalog, Offer, Origin, Tariff
from planner.catalog._rows import CatalogProblem, Parsed, csv_of, parse_csv, table_of
from planner.catalog._schema import (
    LIMITS,
    TABLE_NAMES,
    TABLES,
    CatalogColumn,
    TableName,
    catalog_page,
)
from planner.catalog.live_offers import LiveOffers, has_library
