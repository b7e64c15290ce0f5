"""What a long job leaves on the disk."""

from pathlib import Path


def job_files(output: str) -> dict[str, bytes]:
    """The bytes of the output and of every file in its folder of shards, by name."""
    folder = Path(f"{output}.shards")
    return {"": Path(output).read_bytes(), **{f.name: f.read_bytes() for f in folder.iterdir()}}
