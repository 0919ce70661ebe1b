# All by REST, from the file; topics are sent as they are written there.
set -eu
repo=repos/st-anns-choir/choirbook
cat >settings.json <<'JSON'
{"description": "Sheets, voices and rehearsals of a choir", "homepage": "https://choirbook.example.org",
 "has_issues": true, "has_projects": false, "has_wiki": false, "allow_merge_commit": false,
 "allow_rebase_merge": false, "allow_squash_merge": true, "delete_branch_on_merge": true}
JSON
gh api --silent -X PATCH "$repo" --input settings.json
rm settings.json
gh api --silent -X PUT "$repo/topics" -f 'names[]=Choir' -f 'names[]=Python' -f 'names[]=sheet-music' -f 'names[]=LilyPond'
label() { gh api --silent -X PATCH "$repo/labels/$1" -f new_name="$2" -f color="$3" -f description="$4"; }
label bug bug D73A4A "Something does not work"
label enhancement enhancement A2EEEF "Something new"
label documentation documentation 0075CA ""
label good%20first%20issue "good first issue" 7057FF "Good for a rainy afternoon"
label help%20wanted "help wanted" 008672 ""
label voice Voice FBCA04 "Concerns one voice only"
label question support D876E3 "Somebody needs help"
gh api --silent "$repo/labels" -f name=rehearsal -f color=C5DEF5 -f description="Dates and places"
gh api --silent -X DELETE "$repo/labels/wontfix"
gh api --silent -X DELETE "$repo/labels/invalid"
