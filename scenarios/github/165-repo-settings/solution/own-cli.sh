set -eu
octo edit . description="Sheets, voices and rehearsals of a choir" homepage=https://choirbook.example.org has_issues:=true \
  has_projects:=false has_wiki:=false allow_merge_commit:=false allow_rebase_merge:=false allow_squash_merge:=true \
  delete_branch_on_merge:=true --show full_name
octo show topics | sed 's/"music"/"sheet-music", "lilypond"/' | octo set topics - --show names
octo edit labels/Bug new_name=bug description="Something does not work" --show name
octo edit labels/Enhancement new_name=enhancement --show name
octo edit "labels/Help Wanted" new_name="help wanted" --show name
octo edit labels/voice new_name=Voice --show name
octo edit labels/Question new_name=support --show name
octo edit labels/documentation description= --show name
octo create labels name=rehearsal color=C5DEF5 description="Dates and places" --show name
octo delete labels/wontfix
octo delete labels/invalid
