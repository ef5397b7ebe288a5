"""Laws of local protocols: thresholds of coins, subsets, hashes and windows."""
