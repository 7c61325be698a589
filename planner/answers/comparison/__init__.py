"""The comparison of hardware as a question: parameters, rows of the answer, saved answers.

`_parameters` reads a query and a described workload, `facts` the store's data on the job, and
`question` passes them to `planner.compare`. `_tables` gives the rows of the answer and of the
options to choose from. `_snapshot` and `saved` keep an answer; a later one shows what has changed.
"""

from planner.answers.comparison._parameters import (
    ALWAYS,
    ASSUMED,
    BY_NAME,
    COMPARE,
    COUNTRY,
    DESCRIBED,
    DESCRIPTION,
    DISPLAY,
    FORMATS,
    MOST_HOURS,
    RESNET_50_FLOPS,
    STATED,
    TARIFF,
    TRAINED_IN,
    CompareParameters,
    asks,
    compare_parameters,
    display_of,
    misfits,
    moment_of,
    moment_text,
    moment_words,
    network_values,
    usual_epochs,
    with_job,
)
from planner.answers.comparison._snapshot import changes, made_text, snapshot_of
from planner.answers.comparison._tables import (
    TERMS,
    ChoiceFilter,
    OfferedOption,
    after,
    choices_of,
    end_of,
    narrowed_choices,
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
    MOST_OPTIONS,
    Answered,
    JobFacts,
    Offered,
    Request,
    answered_whole,
    too_many,
    with_own,
)
from planner.answers.comparison.saved import Saved
