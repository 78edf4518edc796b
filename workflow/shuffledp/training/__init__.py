"""Training under local randomisers: an experiment goes in, the rows of its epochs come out.

``experiment`` says what to train, without torch; ``runs`` trains it.
"""
