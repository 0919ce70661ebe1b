"""Report to text: Markdown for people, tables for the terminal."""
