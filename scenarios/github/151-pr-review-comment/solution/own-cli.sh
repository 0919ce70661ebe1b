set -eu
pull=$(octo list pulls head=northgate-library:feature/renewals --show number)
octo create "pulls/$pull/reviews" - --show html_url <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "Thank you for this, Ines. The policy asks for three changes.",
  "comments": [
    {"path": "src/loanbook/renewals.py", "line": 23, "side": "RIGHT",
     "body": "A loan that was renewed twice passes here and is renewed a third time; rule 2 says at most twice."},
    {"path": "src/loanbook/renewals.py", "line": 30, "side": "RIGHT",
     "body": "By rule 2 the new period starts at the due date of the loan. From today on, an early renewal loses days."},
    {"path": "src/loanbook/reminders.py", "line": 15, "side": "RIGHT",
     "body": "The default is one dict for all calls, so the lines of earlier letters come back in later ones."}
  ]
}
JSON
