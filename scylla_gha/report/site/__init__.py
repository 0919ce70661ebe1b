"""The site of all published runs: pages from records, without input or output."""
