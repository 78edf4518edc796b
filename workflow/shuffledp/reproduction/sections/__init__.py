"""Models of the sections of the configuration, one module a section, and how their faults are reported."""
