"""Site: every run of a results folder as static pages that need neither server nor network."""
