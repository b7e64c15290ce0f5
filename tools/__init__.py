"""What made the bundled models and every published figure, and what holds two versions together.

Run from the checkout's root, as `python -m tools.NAME`; nothing here is installed.
"""
