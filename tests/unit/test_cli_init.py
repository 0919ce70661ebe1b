import click
import pytest

from scylla_gha.cli.init import command


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--toolkit", "octo-org/scylla-gha"], "'octo-org/scylla-gha' is not of the form OWNER/REPO@REF"),
        (["--name", "Mine"], "'Mine' is no name in small letters"),
        (["--name", ""], "'' is no name"),
        (["nowhere"], "Directory 'nowhere' does not exist"),
    ],
)
def test_wrong_use_is_told_before_anything_is_looked_at(args: list[str], message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        command.main(args, standalone_mode=False)
    assert message in caught.value.format_message()
