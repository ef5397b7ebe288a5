"""What a channel costs and what it leaks: losses, vulnerabilities, distances. No noise is drawn here."""
