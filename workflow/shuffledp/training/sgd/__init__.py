"""The rounds of training: gradients of each client, messages, steps, and the schedule of the step sizes."""
