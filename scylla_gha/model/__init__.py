"""Records that cross a file. Import them from their own modules; nothing is re-exported here."""
