"""Synchronous JSON API client: timeouts, bounded retries, idempotency keys, Link-header paging. Needs httpx."""

import random
import time
import uuid
from email.utils import parsedate_to_datetime

import httpx

RETRY_STATUS = {408, 429, 500, 502, 503, 504}
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class ApiError(Exception):
    def __init__(self, response):
        self.status = response.status_code
        request = response.request
        super().__init__(f"{request.method} {request.url.path} -> {self.status}: {response.text[:300]}")


def retry_after(response):
    value = response.headers.get("Retry-After", "")
    try:
        return float(value) if value.isdigit() else parsedate_to_datetime(value).timestamp() - time.time()
    except (TypeError, ValueError):
        return None


class Client:
    def __init__(self, base_url, token, *, deadline=30.0, attempts=4):
        self.deadline, self.attempts = deadline, attempts
        self.http = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {token}", "User-Agent": "acme-sync/1.4"},
            timeout=httpx.Timeout(10.0, connect=3.0),
        )

    def request(self, method, url, *, idempotent=None, headers=None, **kwargs):
        headers = dict(headers or {})
        if idempotent is None:
            idempotent = method in {"GET", "HEAD", "PUT", "DELETE"}
        elif idempotent and method == "POST":
            headers.setdefault("Idempotency-Key", str(uuid.uuid4()))  # the same key for all attempts
        end = time.monotonic() + self.deadline  # no new attempt after this; one attempt may still run longer
        for attempt in range(self.attempts):
            wait = random.uniform(0.1, min(8.0, 2.0**attempt))  # exponential, with full jitter
            last = attempt == self.attempts - 1
            try:
                response = self.http.request(method, url, headers=headers, **kwargs)
            except httpx.TransportError as exc:
                if last or not (idempotent or isinstance(exc, NOT_SENT)):
                    raise
            else:
                if response.is_success:
                    return response
                if last or response.status_code not in RETRY_STATUS or not (idempotent or response.status_code == 429):
                    raise ApiError(response)
                wait = max(wait, retry_after(response) or 0.0)
            if time.monotonic() + wait > end:
                raise TimeoutError(f"{method} {url}: gave up after {attempt + 1} attempts, {self.deadline} s")
            time.sleep(wait)

    def close(self):
        self.http.close()

    def pages(self, url, *, max_pages=1000, **params):
        seen = set()
        for _ in range(max_pages):
            response = self.request("GET", url, params=params)
            yield from response.json()
            url, params = response.links.get("next", {}).get("url"), None
            if not url:
                return
            if url in seen:
                raise RuntimeError(f"paging loop at {url}")
            seen.add(url)
        raise RuntimeError(f"more than {max_pages} pages")
