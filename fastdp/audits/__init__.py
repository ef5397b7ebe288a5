"""Lower bounds on what a mechanism leaks, proven from its outputs at a stated confidence.

Stands on mechanisms, which it only asks to draw; imports no randomness of its own. Attacks on whole releases are in
`attacks`.
"""

from fastdp.audits import audit as audit
