set -eu
pull=$(octo list pulls --if head.ref=feature/pace --show number)
git switch -q feature/pace
git apply <<"PATCH"
--- a/src/trailkit/pace.py
+++ b/src/trailkit/pace.py
@@ -24,19 +24,27 @@
 
 def breaks(track: Track, least: float = 300) -> list[Break]:
     """Breaks of at least so many seconds, in the order of the tour."""
-    stretches = [Break(a.time, b.time) for a, b in pairwise(track.points) if _is_slow(a, b)]
-    return [stretch for stretch in stretches if stretch.seconds > least]
+    found: list[Break] = []
+    for a, b in pairwise(track.points):
+        if _is_slow(a, b):
+            goes_on = found and found[-1].end == a.time
+            found.append(Break(found.pop().start if goes_on else a.time, b.time))
+    return [pause for pause in found if pause.seconds >= least]
 
 
-def pace(track: Track) -> float:
-    """Minutes a kilometre, without the time of slow stretches."""
+def pace(track: Track) -> float | None:
+    """Minutes a kilometre, without the time of slow stretches; None without any distance."""
+    if not length(track):
+        return None
     moving = sum((b.time - a.time).total_seconds() for a, b in pairwise(track.points) if not _is_slow(a, b))
     return moving / 60 / (length(track) / 1000)
 
 
 def summary(track: Track) -> str:
     """One line on a tour."""
-    return f"{track.name}: {pace(track):.1f} min/km, breaks: {len(breaks(track))}"
+    minutes = pace(track)
+    shown = "no pace" if minutes is None else f"{minutes:.1f} min/km"
+    return f"{track.name}: {shown}, breaks: {len(breaks(track))}"
 
 
 def _is_slow(a: Point, b: Point) -> bool:
PATCH
sed -i "s/import Break, breaks, pace/import Break, breaks, pace, summary/" tests/test_pace.py
cat >>tests/test_pace.py <<"PY"


class SummaryTest(unittest.TestCase):
    def test_summary_of_a_tour_with_a_break(self) -> None:
        self.assertEqual(summary(tour((0, 0), (600, 1000), (1200, 1000), (1800, 2000))), "tour: 10.0 min/km, breaks: 1")

    def test_summary_without_distance(self) -> None:
        self.assertEqual(summary(tour((0, 0), (300, 0))), "tour: no pace, breaks: 1")
        self.assertEqual(summary(tour()), "tour: no pace, breaks: 0")

    def test_lunch_with_a_point_a_minute(self) -> None:
        lunch = [(600 + 60 * minute, 1000) for minute in range(31)]
        self.assertEqual([pause.seconds for pause in breaks(tour((0, 0), *lunch, (3000, 2000)))], [1800])
PY
PYTHONPATH=src python3 -m unittest discover tests
git commit -qam "Join slow stretches, take breaks of exactly the least length, and say when there is no pace"
git push -q origin feature/pace
octo list "pulls/$pull/comments" --show id,body >comments
reply() { octo create "pulls/$pull/comments/$(grep -F "$1" comments | cut -f 1)/replies" body="$2" --show html_url; }
reply "A break of exactly 300" "Breaks of exactly the least length are in now."
reply "Our watches write" "Slow stretches that follow each other are joined before their length counts."
reply "ZeroDivisionError" "\`pace\` returns None without any distance, and the summary says no pace."
reply "No test calls" "There is a test of the summary now, with and without a pace."
rm comments
octo create "pulls/$pull/requested_reviewers" reviewers:='["wen-li-alp"]' --show number
