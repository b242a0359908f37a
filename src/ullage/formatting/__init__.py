"""The canonical form of a policy's files: white space, and the order of the columns of a row."""
