#!/bin/sh
# Report for each linked worktree whether removing it would lose anything. Changes no file and no ref.
# usage: worktree_report.sh [BASE]     BASE: branch that counts as merged target, default origin/HEAD, else main
# Output, tab separated: verdict, path, branch, reasons. Exit status 0, or 2 outside a repository.
set -u
git rev-parse --git-dir >/dev/null 2>&1 || { echo "not in a git repository" >&2; exit 2; }
base=${1:-$(git symbolic-ref -q --short refs/remotes/origin/HEAD || echo main)}
git rev-parse -q --verify "$base^{commit}" >/dev/null || { echo "unknown base: $base" >&2; exit 2; }

in_base() { # commit: reachable from base, or its whole change is there as one squashed commit
    git merge-base --is-ancestor "$1" "$base" && { echo merged; return; }
    fork=$(git merge-base "$base" "$1") || return
    squashed=$(GIT_AUTHOR_NAME=probe GIT_AUTHOR_EMAIL=probe GIT_COMMITTER_NAME=probe GIT_COMMITTER_EMAIL=probe \
        git commit-tree "$1^{tree}" -p "$fork" -m probe)
    case $(git cherry "$base" "$squashed") in "-"*) echo squash-merged ;; esac
}

report() { # path head branch locked
    reasons='' keep=''
    add() { reasons="$reasons${reasons:+; }$1"; }
    if [ ! -d "$1" ]; then
        printf 'MISSING\t%s\t%s\tdirectory is gone; moved? then git worktree repair NEW_PATH\n' "$1" "$3"
        return
    fi
    [ -n "$4" ] && { add "locked: $4"; keep=1; }
    changed=$(git -C "$1" status --porcelain --untracked-files=all 2>/dev/null | wc -l)
    [ "$changed" -gt 0 ] && { add "$changed changed or untracked files"; keep=1; }
    gitdir=$(git -C "$1" rev-parse --absolute-git-dir)
    for state in rebase-merge rebase-apply MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG; do
        [ -e "$gitdir/$state" ] && { add "unfinished: $state"; keep=1; }
    done
    how=$(in_base "$2")
    if [ -n "$how" ]; then
        add "$how into $base"
    else
        remote=$(git branch -r --contains "$2" --format='%(refname:short)' | grep -v -e '/HEAD$' | head -n 1)
        if [ -n "$remote" ]; then
            add "not in $base, but pushed: $remote"
        else
            add "$(git rev-list --count "$2" "^$base") commits not in $base"
            unpushed=$(git rev-list --count "$2" --not --remotes)
            add "$unpushed on no remote"
            [ "$unpushed" -gt 0 ] && keep=1
            if [ "$3" = "(detached)" ]; then
                git branch --contains "$2" --format='%(refname:short)' | grep -qv '^(' || add "ON NO BRANCH"
            fi
        fi
    fi
    ignored=$(git -C "$1" ls-files --others --ignored --exclude-standard --directory 2>/dev/null | tr '\n' ' ')
    [ -n "$ignored" ] && add "ignored, would be deleted: $ignored"
    if [ -n "$keep" ]; then verdict=KEEP; elif [ -n "$how" ]; then verdict=SAFE; else verdict=ASK; fi
    printf '%s\t%s\t%s\t%s\n' "$verdict" "$1" "$3" "$reasons"
}

path='' head='' branch='' locked='' number=0
flush() {
    [ -n "$path" ] && [ "$number" -gt 1 ] && report "$path" "$head" "$branch" "$locked"
    path='' head='' branch='(detached)' locked=''
}
list=$(git worktree list --porcelain)
while IFS= read -r line; do
    case $line in
        "worktree "*) path=${line#worktree }; branch='(detached)'; number=$((number + 1)) ;;
        "HEAD "*) head=${line#HEAD } ;;
        "branch "*) branch=${line#branch refs/heads/} ;;
        "locked"*) locked=${line#locked}; locked=${locked# }; locked=${locked:-no reason given} ;;
        "") flush ;;
    esac
done <<EOF
$list

EOF
exit 0
