"""Plans as text: templates, profiles, schemas, saving, and plans that receipts of earlier versions state."""
