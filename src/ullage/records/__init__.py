"""Decision records: what was concluded, from which rows and rules; and whether it still is."""
