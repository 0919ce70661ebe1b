"""Files of a run folder: names, atomic writes, digests, locks."""
