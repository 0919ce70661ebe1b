set -eu
git fetch -q origin
git checkout -q feature/pace
python3 - <<'PY'
from pathlib import Path
p = Path("src/trailkit/pace.py"); s = p.read_text()
a = s.index("def breaks"); z = s.index("def _is_slow")
s = s[:a] + '''def breaks(track: Track, least: float = 300) -> list[Break]:
    """Breaks of at least so many seconds, in the order of the tour."""
    found: list[Break] = []
    for a, b in pairwise(track.points):
        if not _is_slow(a, b):
            continue
        if found and found[-1].end == a.time:
            found[-1] = Break(found[-1].start, b.time)
        else:
            found.append(Break(a.time, b.time))
    return [pause for pause in found if pause.seconds >= least]


def pace(track: Track) -> float | None:
    """Minutes a kilometre, without the time of slow stretches; None for a track that goes nowhere."""
    distance = length(track)
    if distance == 0:
        return None
    moving = sum((b.time - a.time).total_seconds() for a, b in pairwise(track.points) if not _is_slow(a, b))
    return moving / 60 / (distance / 1000)


def summary(track: Track) -> str:
    """One line on a tour."""
    minutes = pace(track)
    shown = "no pace" if minutes is None else f"{minutes:.1f} min/km"
    return f"{track.name}: {shown}, breaks: {len(breaks(track))}"


''' + s[z:]
p.write_text(s)
t = Path("tests/test_pace.py"); s = t.read_text()
s = s.replace("breaks, pace\n", "breaks, pace, summary\n")
s += '''
    def test_a_break_of_exactly_the_least_time_counts(self) -> None:
        track = tour((0, 0), (600, 1000), (900, 1000), (1500, 2000))
        self.assertEqual([found.seconds for found in breaks(track)], [300])

    def test_slow_stretches_in_a_row_are_one_break(self) -> None:
        rest = [(600 + 60 * n, 1000) for n in range(31)]
        track = tour((0, 0), *rest, (3000, 2000))
        self.assertEqual([found.seconds for found in breaks(track)], [1800])

    def test_breaks_are_in_the_order_of_the_tour(self) -> None:
        track = tour((0, 0), (600, 1000), (900, 1000), (1500, 2000), (2700, 2000), (3300, 3000))
        self.assertEqual([found.seconds for found in breaks(track)], [300, 1200])

    def test_who_does_not_move_has_no_pace(self) -> None:
        self.assertIsNone(pace(tour((0, 0), (600, 0))))
        self.assertIsNone(pace(tour()))
'''
t.write_text(s)
PY
cat > /tmp/sumtest-$$ <<'PY'

    def test_summary(self) -> None:
        self.assertEqual(summary(tour((0, 0), (600, 1000), (1200, 1000), (1800, 2000))), "tour: 10.0 min/km, breaks: 1")
        self.assertEqual(summary(tour((0, 0), (600, 0))), "tour: no pace, breaks: 1")
        self.assertEqual(summary(tour()), "tour: no pace, breaks: 0")
PY
R=repos/ridge-walkers/trailkit
first() { gh api "$R/pulls/4/comments?per_page=100" --jq ".[] | select(.in_reply_to_id == null and (.body | startswith(\"$1\"))) | .id"; }
say() { gh api "$R/pulls/4/comments/$(first "$1")/replies" -f body="$2" --silent; }
push() { PYTHONPATH=src python3 -m unittest discover -q tests; git add -A src tests; git commit -qm "$1"; git push -q origin feature/pace; sha=$(git rev-parse --short HEAD); }
ask() { gh api -X POST "$R/pulls/4/requested_reviewers" -f 'reviewers[]=wen-li-alp' --silent; }
ask
cat /tmp/sumtest-$$ >> tests/test_pace.py
push "Breaks and pace after the review"
gh pr checks 4 --watch -i 1 >/dev/null
say "A break of exactly" "A break of exactly \`least\` seconds counts now (\`>=\`)."
say "Our watches write" "Slow stretches that follow each other are joined to one break before their length is compared."
say "ZeroDivisionError" "\`pace\` returns \`None\` for a track without distance or points, and the summary says \`no pace\`."
say "No test calls" "I added a test that compares the whole line of \`summary\`, with a pace and with \`no pace\`."
