"""The sub-commands of `infolm`: a file each, which ends with its entry for the table in main."""
