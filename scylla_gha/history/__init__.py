"""The results branch: what was measured, by run, on a branch of its own that only grows.

```
v1/index/<yyyy-mm>/<experiment>--<run>-<attempt>.json      one small file a run, so that nothing is ever rewritten
v1/runs/<yyyy>/<mm>/<experiment>/<run>-<attempt>/
  manifest.json  report.json  rows-000.jsonl.gz ...
```
Paths are unique, so two who publish at once never touch the same file: whoever comes second commits anew on what the
first one pushed. Trajectories stay artifacts.
"""
