"""What fastdp costs, measured beside its rivals: ``python -m benchmarks.run``, then ``python -m benchmarks.report``.

BLAS gets one thread, before numpy is loaded: the clock is that of one thread.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
