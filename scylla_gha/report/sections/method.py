"""The method of the numbers, and the glossary."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.report.markdown_table import fold
from scylla_gha.report.view import ReportView

_TRIALS: Final = """\
A trial **passes** when the agent completed, its score reaches the scenario's threshold, and every required checkpoint
holds. The **score** is the weighted sum of the rubric's categories, each the points achieved of those that apply;
weights of categories that do not apply are shared out among the others. Rates are over judged trials: faults of
provider, sandbox, fixture or judge are excluded, counted, and listed. **USD** is the model cost of all attempts of all
trials; the judges' stands apart.
"""
POOLED: Final = """\
**Time** is the mean wall time of a trial, **USD/pass** the cost over the passes. The interval is Wilson's, at 95 %, of
all trials as if they were independent. Without the statistics (the extra `report`) verdicts are
better, worse or not enough data, by an exact test over scenarios, and no arm is called equivalent.
"""
HEADLINE: Final = """\
A task that is tried ten times is still one task: the **scenario** is the unit. Each scenario's trials become one mean,
and **pass**, **score**, **time** and **USD/pass** are built from those means, each scenario weighing the same. A 95 %
**interval** is made so that, of a hundred such, about 95 hold the true value; it speaks of scenarios like these, where
nothing else is said. Two arms are compared scenario by scenario; **p** is how often so large a mean difference, or a
larger one, would come up if it were chance which of the two arms did better on a scenario. It is adjusted for the
number of comparisons asked about, and is never 0.

The verdict is **better** or **worse** where the adjusted p is at most 0.05 and the interval excludes 0; **equivalent**
where the limits of equivalence lie within the margin that the experiment declares as no difference; else there is
**not enough data**, which says nothing for or against an arm. The limits of equivalence are 90 % limits, adjusted for
the number of comparisons; they allow for a change of 100 points in scenarios too rare to have been drawn, and so are
wider than the others where scenarios are few: within 5 points, equivalence takes 59 scenarios.
"""
_SIGNS: Final = "`?` is unknown, `-` is undefined, `∞` is paid for without a pass; none of them is 0."
_WORDS: Final = """\
- **arm**: a variant of an agent, with a model: what is compared. **baseline**: the arm that others are held against.
- **scenario**: a task with its start state and its checks. **repetition**: the same task, tried anew by the same arm.
- **tier**, **sub-test**: a group of variants, and one of them.
- **outcome**: how a trial ended. `completed`, `timeout`, `refused`, `agent_error` and `budget_exceeded` measure the
  agent; all others do not, and are left out of the rates.
- **USD/pass** (cost of a pass): mean cost of a trial over the pass rate, so that failures are paid for.
- **ratio**: of geometric means over scenarios (of USD per pass: of both arms' own): x1.20 is a fifth more.
- **adjusted p**: after Holm within a family of comparisons that the plan declares; after Benjamini and Hochberg where
  all metrics are screened. **least p**: the least that so many scenarios can give, whatever they show.
- **smallest effect**: what would be found in four of five such experiments, by the spread that was seen.
- **w/t/l**: scenarios won, tied, lost. **points**: percentage points.
- **d**, **g**, **d_z**: differences in units of a standard deviation. **Cliff's delta**: how much more often a trial of
  one arm beats one of the other than the reverse.
- **ICC(1)**: how much repetitions of a scenario have in common. **design effect**, **effective trials**: by how much
  that inflates the variance, and as how many independent trials they count.
- **one of k**, **all of k tries pass**: known as `pass@k` and `pass^k`; **consistency** is the Scylla paper's.
- **cheaper and better** (Pareto set): arms that no other beats in both.
"""


def method(page: ReportView) -> Iterator[str]:
    """Yield the method, and the glossary if statistics were computed."""
    analysed = page.analysis is not None
    yield "\n## How this was computed\n"
    yield _TRIALS
    yield HEADLINE if analysed else POOLED
    yield _SIGNS
    if analysed:
        yield from fold("Words", _WORDS.splitlines())
