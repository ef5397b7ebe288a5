"""Products of channels with vectors, and the iterations of estimators on them. They draw no noise."""
