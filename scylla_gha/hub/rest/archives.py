"""Source archives of a commit, branch or tag: redirects to their files."""

from scylla_gha.hub.addresses import CODELOAD, CODELOAD_PATH
from scylla_gha.hub.operations.archives import archive_address
from scylla_gha.hub.rest import RestAnswer, RestRequest, route

_REPOSITORY = "/repos/{owner}/{repo}"


@route("GET", f"{_REPOSITORY}/zipball", f"{_REPOSITORY}/zipball/{{ref}}")
def get_zipball(request: RestRequest) -> RestAnswer:
    """Redirect to the files of a revision as a zip."""
    return _archive(request, "zip")


@route("GET", f"{_REPOSITORY}/tarball", f"{_REPOSITORY}/tarball/{{ref}}")
def get_tarball(request: RestRequest) -> RestAnswer:
    """Redirect to the files of a revision as a compressed tar."""
    return _archive(request, "tar.gz")


def _archive(request: RestRequest, form: str) -> RestAnswer:
    ref, host = request.params.get("ref", ""), request.headers.get("host", "")
    address = archive_address(request.session, request.repository(), form, ref)
    base = CODELOAD if host in ("", "api.github.com") else f"http://{host}{CODELOAD_PATH}"
    return RestAnswer(302, headers={"Location": f"{base}{address}"})
