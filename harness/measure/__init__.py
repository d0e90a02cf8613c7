"""What happens inside a worker: the visit, its clocks, memory, guard, device and machine."""
