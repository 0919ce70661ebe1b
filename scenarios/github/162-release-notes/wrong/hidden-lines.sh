# The lines are comments of HTML, so that readers see headings alone.
set -eu
export GH_REPO=elm-street-garden/seedbox
number() { gh pr list --state merged --json number,title --jq ".[] | select(.title == \"$1\") | .number"; }
gh release edit v1.4.0 --notes "Spring is near, and seedbox now knows what to sow. Thank you all!

## Added

<!-- - Say in which months seeds are sown (#$(number "Say in which months seeds are sown")) by @omar-haddad -->

## Fixed

<!-- - Seeds of this year are not a year old (#$(number "Seeds of this year are not a year old")) by @omar-haddad
- Read weights with a decimal comma (#$(number "Read weights with a decimal comma")) by @lea-brandt -->

## Documentation

<!-- - Explain the columns of the list (#$(number "Explain the columns of the list")) by @lea-brandt -->
"
