"""Laws on the plane and on finite metrics."""
