"""Ask panels live: cases, batches and re-runs."""
