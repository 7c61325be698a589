"""Every chart of the product, drawn without a browser; only this package uses plotly.

Observed points are markers, fits are lines, bands have the line's colour, and parts beyond the
measurements are dashed and grey. Labels are at the line ends, pushed apart where lines meet.
"""

from planner.figures._capacity import (
    HourLine,
    MoneyLine,
    WaitRow,
    cost_by_use,
    money_lines,
    waiting_times,
    work_by_month,
)
from planner.figures._compare import (
    BASIS_SYMBOLS,
    Bounds,
    Spot,
    TornadoBar,
    UseAxes,
    UseLine,
    bar_rows,
    grey_words,
    rent_or_buy,
    time_cost,
    tornado,
)
from planner.figures._curves import (
    MeasuredPoints,
    ThroughputLine,
    TimeLine,
    epoch_times,
    residuals,
    throughput,
    total_time,
)
from planner.figures._explore import (
    EXPLORE_CONFIG,
    MOST_MARKS,
    MOST_SERIES,
    Cloud,
    CloudAxes,
    CloudCurve,
    ColourSeries,
    Heat,
    RunLine,
    epochs_overlaid,
    explore,
    explore_pictures,
    heat_table,
    selected,
    steps_distribution,
    symbol_names,
)
from planner.figures._method import (
    Dot,
    Scale,
    ShareLine,
    dots,
    efficiency,
    interval_of_epochs,
    unlike_neighbours,
)
from planner.figures._scaling_out import (
    CountLine,
    Cuts,
    Place,
    StepLine,
    StepShares,
    efficiency_by_devices,
    memory_of_cuts,
    shares,
    stated_order,
    step_by_batch,
    step_by_devices,
    uneven,
)
from planner.figures._steps_to_target import (
    Borders,
    StatedLine,
    StepsLine,
    TargetTimeLine,
    stated_times,
    steps_to_target,
    time_to_target,
)
from planner.figures._still import svg
from planner.figures._tiles import (
    DIGITS,
    Card,
    IntervalBar,
    Markup,
    Tile,
    card,
    cards,
    number_tile,
    share_text,
    share_tile,
    style_sheet,
    time_tile,
)
from planner.figures.as_text import cell_text, chart_rows, chart_text, table_text
from planner.figures.frame import (
    CONFIG,
    LEAST_HEIGHT,
    ChartSpec,
    UncheckedFigure,
    escape,
    option_slots,
    system_slot,
)
