# One commit a thread, other code, and the replies in one review.
set -eu
git fetch -q origin
git switch -q feature/pace
edit() { python3 - "$1" "$2" <<"PY"
import pathlib, sys
path = pathlib.Path("src/trailkit/pace.py")
text = path.read_text()
assert sys.argv[1] in text
path.write_text(text.replace(sys.argv[1], sys.argv[2]))
PY
}
edit "stretch.seconds > least" "stretch.seconds >= least"
git commit -qam "Find breaks of exactly the least length"
edit "from itertools import pairwise" "from itertools import groupby, pairwise"
edit "    stretches = [Break(a.time, b.time) for a, b in pairwise(track.points) if _is_slow(a, b)]" \
"    groups = groupby(pairwise(track.points), key=lambda pair: _is_slow(*pair))
    runs = [list(pairs) for is_slow, pairs in groups if is_slow]
    stretches = [Break(run[0][0].time, run[-1][1].time) for run in runs]"
git commit -qam "One break for slow stretches that follow each other"
edit "def pace(track: Track) -> float:" "def pace(track: Track) -> float | None:"
edit "    return moving / 60 / (length(track) / 1000)" "    kilometres = length(track) / 1000
    return moving / 60 / kilometres if kilometres else None"
edit "{pace(track):.1f} min/km, breaks" "{_shown(pace(track))}, breaks"
cat >>src/trailkit/pace.py <<"PY"


def _shown(minutes: float | None) -> str:
    return "no pace" if minutes is None else f"{minutes:.1f} min/km"
PY
git commit -qam "No pace without distance"
cat >tests/test_summary.py <<"PY"
import unittest

from test_pace import tour
from trailkit.pace import summary


class SummaryTest(unittest.TestCase):
    def test_summary(self) -> None:
        self.assertIn("10.0 min/km", summary(tour((0, 0), (600, 1000))))
PY
git add tests
git commit -qm "A test of the summary"
git push -q
pull=$(gh pr list --head feature/pace --json id --jq ".[0].id")
review=$(gh api graphql -F pull="$pull" --jq .data.addPullRequestReview.pullRequestReview.id -f query='
  mutation($pull: ID!) { addPullRequestReview(input: {pullRequestId: $pull}) { pullRequestReview { id } } }')
reply() {
  thread=$(gh api graphql -F pull="$pull" -f query='
    query($pull: ID!) {
      node(id: $pull) { ... on PullRequest { reviewThreads(first: 50) { nodes { id originalLine } } } }
    }' --jq ".data.node.reviewThreads.nodes[] | select(.originalLine == $1) | .id")
  gh api graphql --silent -F review="$review" -F thread="$thread" -F body="$2" -f query='
    mutation($review: ID!, $thread: ID!, $body: String!) {
      addPullRequestReviewThreadReply(
        input: {pullRequestReviewId: $review, pullRequestReviewThreadId: $thread, body: $body}
      ) { comment { id } }
    }'
}
reply 28 "It is at least now."
reply 27 "Joined."
reply 34 "None, and no pace in the summary."
reply 39 "Tested."
reply 26 "Left as it is, as you wrote below."
gh api graphql --silent -F review="$review" -f query='
  mutation($review: ID!) {
    submitPullRequestReview(input: {pullRequestReviewId: $review, event: COMMENT, body: "Ready for another look."}) {
      pullRequestReview { state }
    }
  }'
number=$(gh pr list --head feature/pace --json number --jq ".[0].number")
gh api --silent "repos/ridge-walkers/trailkit/pulls/$number/requested_reviewers" -f "reviewers[]=wen-li-alp"
