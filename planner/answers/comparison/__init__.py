"""The comparison of hardware as a question: parameters, rows of the answer, saved answers.

`_parameters` reads a query, `_description` a described workload, `facts` the store's data on the
job, and `question` passes them to `planner.compare`. `_tables` gives the rows; `_snapshot` and
`saved` keep an answer, so that a later one can show what has changed. `_choices` lists the options
to choose from.
"""

from planner.answers.comparison._choices import (
    TERMS,
    Choice,
    ChoiceFilter,
    choices_of,
    narrowed_choices,
)
from planner.answers.comparison._description import (
    DESCRIBED,
    DESCRIPTION,
    FORMATS,
    RESNET_50_FLOPS,
    TRAINED_IN,
    network_values,
)
from planner.answers.comparison._parameters import (
    ALWAYS,
    ASSUMED,
    BY_NAME,
    COMPARE,
    DISPLAY,
    HOUR_S,
    MOST_HOURS,
    STATED,
    TARIFF,
    CompareParameters,
    asks,
    compare_parameters,
    display_of,
    misfits,
    moment_of,
    moment_text,
    moment_words,
    usual_epochs,
    with_job,
)
from planner.answers.comparison._problems import (
    answered_whole,
    problems_of,
    too_many,
    with_own,
)
from planner.answers.comparison._snapshot import changes, made_text, snapshot_of
from planner.answers.comparison._tables import (
    end_of,
    option_rows,
    samples_per_s_of,
    source_rows,
    startup_s_of,
)
from planner.answers.comparison.facts import (
    Target,
    epoch_size_of,
    facts_of,
    measured_job,
    own_trials,
    stated_of,
    steps_of,
    trial_set_of,
)
from planner.answers.comparison.question import (
    MOST_EPOCHS,
    MOST_OPTIONS,
    Answered,
    Facts,
    Offered,
    Request,
)
from planner.answers.comparison.saved import (
    Saved,
)
