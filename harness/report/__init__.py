"""From statements to what people and machines read."""
