"""The command line: one file a command, and nothing in it that a program could not call as well."""
