import click
import pytest

from scylla_gha.cli.reverts import command


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["app"], "'app' is not of the form OWNER/REPO"),
        (["o/r/s"], "is not of the form OWNER/REPO"),
        (["o/.."], "is not of the form OWNER/REPO"),
        (["-o/r"], "No such option"),
        (["o/r?x"], "is not of the form OWNER/REPO"),
        (["o/r", "--since", "2026-02-01", "--until", "2026-01-01"], "2026-02-01 is after 2026-01-01, the last day"),
        (["o/r", "--since", "yesterday"], "'yesterday' does not match the format '%Y-%m-%d'"),
        (["o/r", "--window", "0"], "0 is not in the range"),
    ],
)
def test_wrong_use_is_told_before_anything_is_asked(args: list[str], message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        command.main(args, standalone_mode=False)
    assert message in caught.value.format_message()
