"""The accountants and randomisers in other people's tools: dp_accounting, Opacus and Flower."""
