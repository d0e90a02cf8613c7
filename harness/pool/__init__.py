"""Who measures: the worker process and the pools that give it work."""
