"""Results under a URL: runs are written and read in local folders, and copied here."""
