"""Pictures, charts and self-contained HTML pages."""
