"""From records to statements: fits of one series, claims, runs over time; without torch."""
