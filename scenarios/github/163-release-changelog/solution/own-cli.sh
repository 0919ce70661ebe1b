set -eu
since=$(octo show releases/tags/v2.1.0 --show published_at)
git switch --quiet --create changelog/2.2.0
octo list pulls state=closed base=main --show number,merged_at,user.login,labels.name,title | sort -n | awk -F '\t' -v since="$since" '
  $2 > since && "," $4 "," !~ /,skip-changelog,/ {
    labels = "," $4 ","
    heading = labels ~ /,removed,/ ? "Removed" : labels ~ /,added,/ ? "Added" : labels ~ /,changed,/ ? "Changed" : \
      labels ~ /,fixed,/ ? "Fixed" : "Changed"
    lines[heading] = lines[heading] "- " $5 " (#" $1 ", @" $3 ")\n"
  }
  END {
    print "# Changelog\n\n## 2.2.0"
    count = split("Removed Added Changed Fixed", order, " ")
    for (at = 1; at <= count; at++) if (order[at] in lines) printf "\n### %s\n\n%s", order[at], lines[order[at]]
  }' >new.md
tail -n +2 CHANGELOG.md >>new.md
mv new.md CHANGELOG.md
git commit --quiet --all --message "Changelog of 2.2.0"
git push --quiet origin changelog/2.2.0
pull=$(octo create pulls title="Changelog of 2.2.0" body="By docs/changelog.md." base=main head=changelog/2.2.0 --show number)
octo create "issues/$pull/labels" labels:='["skip-changelog"]' --show name
