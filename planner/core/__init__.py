"""Numbers with intervals, and their common tools.

An answer is an `Estimate` (value, 90 % interval, basis) or a `Refusal` (reason, next measurement).
A sentence is a `Text`, a template with named parameters. Further: durations and numbers in words,
labels and slugs of links, checked points, and tables as CSV. `limits` has the limits of stored
values, `parameters` reads the parameters of a request. All but texts and limits is imported on
first use: training scripts that record themselves have pyarrow only, and a measured process needs
texts only.
"""

from typing import TYPE_CHECKING

from planner.core._lazy import on_first_use
from planner.core._text import (
    Text,
    cut,
    joined,
    listed_words,
    message_of,
    of_parameter,
    paragraph,
    parameter_of,
    plain_text,
    plural,
    program,
    sentence_case,
)
from planner.core.limits import (
    FILES,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_FILE_RUNS,
    MAX_FOOTER_BYTES,
    MAX_REASON,
    MAX_ROW_GROUPS,
    MAX_SET_BYTES,
    MAX_SET_DEPTH,
    MAX_SET_KEYS,
    MAX_SET_LINE,
    MAX_SET_TEXT,
    MAX_SET_UNKNOWN,
    MAX_TEXT,
    UNITS,
)

if TYPE_CHECKING:
    from planner.core._durations import (
        DAY_S,
        ENDLESS,
        HOUR_S,
        UNKNOWN,
        about,
        between,
        clock,
        ends_in_hours,
        hms,
        in_one_unit,
        in_words,
        interval,
        split_unit,
        with_ends,
    )
    from planner.core._estimate import LEVEL, Basis, Estimate, Refusal, t_quantile
    from planner.core._guarded import LONGEST_S, or_refusal, or_too_long
    from planner.core._numbers import (
        COST,
        GIGA,
        LEAST_DIGITS,
        SPEED,
        ahead,
        ahead_between,
        ahead_of,
        ahead_than,
        counted,
        distinct_labels,
        large,
        percent,
        percent_of,
        plain,
        rounded,
        rounded_ends,
        several,
        short_labels,
        with_range,
        written_ends,
    )
    from planner.core._tables import (
        Cell,
        Record,
        bare,
        cell,
        cell_text,
        csv_text,
        estimate_cells,
        harmless,
        shipped_rows,
        shipped_text,
        texts_in,
    )
    from planner.core.parameters import (
        LONGEST_QUERY,
        LONGEST_VALUE,
        MOST_QUERY_VALUES,
        MOST_VALUES,
        NEXT_TO_NOTHING,
        Parameter,
        ParameterProblem,
        QueryTexts,
        encoded,
        number_of,
        number_text,
        parsed,
        printable,
        query_of,
        read,
        shown,
        text_of,
        texts_of_link,
        texts_of_query,
        value_of,
        with_current_names,
    )
    from planner.core.points import (
        LARGEST,
        SMALLEST,
        Floats,
        bad_seconds,
        check_flat,
        check_pairs,
        listed,
        positive,
        speak_once,
    )
    from planner.core.slugs import file_slug, looked_up, no_match, slug
else:
    __getattr__ = on_first_use(
        __name__, "_durations", "_numbers", "_estimate", "_tables", "parameters", "slugs",
        "_guarded", "points",
    )  # fmt: skip
