set -eu
number() { octo search "is:pr is:merged" --if title="$1" --show number; }
release=$(octo list releases --if tag_name=v1.4.0 --show id)
octo edit "releases/$release" --show html_url body="Spring is near, and seedbox now knows what to sow. Thank you all!

## Added

- Say in which months seeds are sown (#$(number "Say in which months seeds are sown")) by @omar-haddad

## Fixed

- Seeds of this year are not a year old (#$(number "Seeds of this year are not a year old")) by @omar-haddad
- Read weights with a decimal comma (#$(number "Read weights with a decimal comma")) by @lea-brandt

## Documentation

- Explain the columns of the list (#$(number "Explain the columns of the list")) by @lea-brandt
"
