"""Orchestration that commands share: runs of cells, shards, judging, reports, the site and the local server."""
