"""How a cell is measured: clock, memory, kernel record, ceilings, machine."""
