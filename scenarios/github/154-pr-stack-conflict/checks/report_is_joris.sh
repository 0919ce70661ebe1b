# The report differs from that of the pull request in the name of one field at most.
set -u
git show refs/start/heads/feature/report:src/meterlog/report.py | sed "s/\.value/.kwh/g" >expected.py
diff expected.py src/meterlog/report.py
