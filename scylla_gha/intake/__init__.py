"""Rows that other machines sent: where agents ran, anything may come from, so it is checked before it is believed."""
