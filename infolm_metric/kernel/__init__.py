"""What every metric needs; knows none of them."""
