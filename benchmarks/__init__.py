"""Speed, measured side by side; `make bench` runs it all."""
