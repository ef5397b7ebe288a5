"""Attacks on trained models and on the messages of federated learning: membership, memory, inversion.

They see losses, confidences and gradients, never a training set that the caller did not hand over.
"""
