"""The canonical report: its models, reader, rules, schema and writer."""
