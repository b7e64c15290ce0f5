"""Scripts that reproduce the published figures and check the code.

Run them from the root of the repository as `python -m tools.NAME`. They are not installed.
"""
