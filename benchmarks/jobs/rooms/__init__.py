"""Jobs of whole rooms: releases, audits, anonymity, fairness, learning."""
