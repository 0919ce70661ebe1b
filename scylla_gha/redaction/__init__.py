"""No secret in what is stored: its spellings, the kinds of well-known tokens, and the pass that takes them out."""
