"""Long-run effects: decisions that change the data that the next decisions are made from.

Two small simulations: records that follow patrols, and scores that follow loans.
"""
