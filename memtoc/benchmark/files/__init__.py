"""Tables as people keep them: csv of any separator, JSON, workbooks, parquet; one reader."""
