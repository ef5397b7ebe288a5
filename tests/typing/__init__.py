"""What type checkers see of fastdp: a consumer's file that they check, and how much of the surface is typed."""
