"""The hub: a GitHub of its own for every cell, with REST, GraphQL and git over HTTP.

`records` are what GitHub knows beside git; `state` holds them for one cell, with a journal; `git_store` holds the real
repositories. `operations` are GitHub's rules, which `rest` and `graphql` share; `server` speaks HTTP.
"""
