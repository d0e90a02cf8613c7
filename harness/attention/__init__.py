"""What is computed: inputs, masks, the oracle, agreement, and the backends."""
