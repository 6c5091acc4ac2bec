"""What tests share; imported as ``support.NAME`` (see pythonpath in pyproject.toml)."""
