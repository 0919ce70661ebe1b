"""The results branch: rows and report of every published run, which never change, and pages for people.

```
v1/index/<yyyy-mm>/<experiment>--<run>-<attempt>.json      one small file per run, never rewritten
v1/runs/<yyyy>/<mm>/<experiment>/<run>-<attempt>/
  manifest.json  report.json  rows-000.jsonl.gz ...  forest.svg  readme.md
README.md  badges/<experiment>-<kind>.svg  charts/<experiment>.svg      rewritten with each run
```
Paths are unique, so two jobs that publish at once never write the same file: the second job commits again on top of the
first. Transcripts are not published; they stay artifacts.
"""
