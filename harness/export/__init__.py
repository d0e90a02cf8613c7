"""Export: a run in the file formats of other tools, one module for each format."""
