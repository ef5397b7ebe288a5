"""What results show of themselves: pictures by matplotlib, and tables for notebooks."""
