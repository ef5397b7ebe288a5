"""What is released: noise on integer sums, exact intervals, answers in numbers, Arrow and pictures."""
