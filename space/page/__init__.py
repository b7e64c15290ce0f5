"""The page of the Space: its tabs, their answers, and the endpoints that programs call."""
