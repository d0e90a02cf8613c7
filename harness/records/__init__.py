"""What came back, how it lies on disk or under a URL, and how it is read and checked."""
