"""What the sections of the configuration may hold, a section a module, and where their faults are."""
