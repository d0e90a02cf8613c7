"""Words: numbers with their units, markup, plain listings."""
