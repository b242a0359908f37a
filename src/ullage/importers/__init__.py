"""Importers: rows of facts from configurations and weight files, each format in its own file.

No code of a checkpoint is ever run and no tensor is ever read: what headers say is all.
"""
