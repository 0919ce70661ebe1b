"""The results branch: the rows and report of every published run, append-only, and pages for people beside them.

```
v1/index/<yyyy-mm>/<experiment>--<run>-<attempt>.json      one small file a run, so that nothing is ever rewritten
v1/runs/<yyyy>/<mm>/<experiment>/<run>-<attempt>/
  manifest.json  report.json  rows-000.jsonl.gz ...  forest.svg  readme.md
README.md  badges/<experiment>-<kind>.svg  charts/<experiment>.svg      rewritten with each run
```
Paths are unique, so two jobs that publish at once never write the same file: the second one commits again on top of the
first. Transcripts stay artifacts.
"""
