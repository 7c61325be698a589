"""General fits: lines, non-negative costs, corrected lines, and their intervals.

`lines` fits many straight lines at once, `corrected` bends one by its residuals, `_nonnegative`
solves for costs that add up. `_curve` is the protocol of fitted laws, and `_arithmetic` multiplies
and divides estimates.
"""

from planner.fits._arithmetic import (
    CURVES,
    NAMES,
    excludes_one,
    log_half_widths,
    log_width,
    named,
    one_level,
    product,
    ratio,
    root_of_product,
    weakest,
    widened,
)
from planner.fits._curve import (
    BASES,
    NARROW,
    NO_INTERVAL,
    TOO_FAR,
    TWICE,
    BatchCurve,
    Limited,
    Parts,
    StepTimeCurve,
    all_given,
    answer,
    answered_range,
    as_given,
    basis_of,
    batch_basis,
    estimate_of,
    line_without_points,
    parameters,
    predict,
    range_of,
    ratio_estimate,
    refusal_outside,
    scalar_estimate,
    scatter_of,
)
from planner.fits._nonnegative import NonNegativeFit, fit_nonnegative
from planner.fits.corrected import (
    BEND,
    GONE,
    LEAST,
    WIDER,
    CorrectedLines,
    Process,
    fit_corrected,
    never_corrected,
    predict_corrected,
)
from planner.fits.lines import (
    KAPPA,
    PARAMETERS,
    ROUNDING,
    SD0,
    Lines,
    Prior,
    degrees_of_freedom,
    fit_lines,
    intercept_interval,
    predict_lines,
    ratio_interval,
    scatter_variance,
    slope_interval,
)
