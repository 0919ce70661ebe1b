"""Twins of JavaScript and TypeScript code: what changes in a file's text for each kind of twin."""
