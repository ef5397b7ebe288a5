"""Tests of `fastdp plan`."""
