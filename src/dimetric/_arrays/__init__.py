"""Arrays of any namespace: namespaces, validation, blocks of rows, threads."""
