"""Parts that answers of several nouns have."""

import datetime
from typing import Any

from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.addresses import API, SITE
from scylla_gha.hub.records import UserRecord, node_id


def time(value: datetime.datetime | None) -> str | None:
    """Return a time as GitHub writes it."""
    return None if value is None else f"{value:%Y-%m-%dT%H:%M:%SZ}"


def ids(record: HubRecord) -> dict[str, Any]:
    """Return the two ids of a record."""
    return {"id": record.id, "node_id": node_id(record)}


def user(record: UserRecord) -> dict[str, Any]:
    """Return a user as other answers name one (GitHub's "simple user")."""
    url = f"{API}/users/{record.login}"
    return {
        "login": record.login,
        **ids(record),
        "avatar_url": f"https://avatars.githubusercontent.com/u/{record.id}?v=4",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{SITE}/{record.login}",
        "followers_url": f"{url}/followers",
        "following_url": f"{url}/following{{/other_user}}",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{url}/subscriptions",
        "organizations_url": f"{url}/orgs",
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events{{/privacy}}",
        "received_events_url": f"{url}/received_events",
        "type": record.kind,
        "user_view_type": "public",
        "site_admin": False,
    }
