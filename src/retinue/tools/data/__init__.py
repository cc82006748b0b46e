"""Tables out of data files, and answers to SQL about them, through DuckDB with everything outside closed."""
