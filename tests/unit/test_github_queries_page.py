from scylla_gha.config.schemas import queries_page
from scylla_gha.model.github_views import QUERIES, ThreadView


def test_the_page_names_each_query_and_each_field() -> None:
    page = queries_page()
    assert [query for query in QUERIES if f"`{query}`" not in page.replace("`target`", "")] == []
    thread = page.partition("## `thread`")[2].partition("\n## ")[0]
    assert [name for name in ThreadView.model_fields if f"| `{name}` |" not in thread] == ["id", "sequence"]


def test_values_are_in_words() -> None:
    review = queries_page().partition("## `review`")[2].partition("\n## ")[0]
    assert "| `state` | `PENDING`, `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED` |" in review
    assert "## CommentView" not in queries_page(), "a comment has a query of its own"
