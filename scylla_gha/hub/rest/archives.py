"""Source archives of a commit, branch or tag."""

from scylla_gha.hub.errors import not_found
from scylla_gha.hub.rest import RestAnswer, RestRequest, route

_REPOSITORY = "/repos/{owner}/{repo}"


@route("GET", f"{_REPOSITORY}/zipball/{{ref}}")
def get_zipball(request: RestRequest) -> RestAnswer:
    """Return the files of a revision as a zip."""
    return _archive(request, "zip", "application/zip")


@route("GET", f"{_REPOSITORY}/tarball/{{ref}}")
def get_tarball(request: RestRequest) -> RestAnswer:
    """Return the files of a revision as a compressed tar."""
    return _archive(request, "tar.gz", "application/x-gzip")


def _archive(request: RestRequest, form: str, content_type: str) -> RestAnswer:
    """Return an archive at once, to which GitHub redirects."""
    repository = request.repository()
    git = request.session.git(repository)
    sha = git.resolve(request.params.get("ref") or repository.default_branch)
    if sha is None:
        raise not_found()
    name = f"{request.session.state.full_name(repository).replace('/', '-')}-{sha[:7]}"
    content = git.run("archive", f"--format={form}", f"--prefix={name}/", sha)
    headers = {"Content-Disposition": f"attachment; filename={name}.{form}"}
    return RestAnswer(200, content=content, content_type=content_type, headers=headers)
