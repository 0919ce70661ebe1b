"""Step `plan`: turn an experiment into cells, keys, shards and an estimate."""
