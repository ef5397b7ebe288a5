"""What becomes of each column: plans, their parts and policies, and what they guarantee. No data, no files."""
