"""Scores shares of pairs as torchmetrics do, batch by batch on every rank of torchrun.

    torchrun --nproc-per-node 2 torchmetrics_on_ranks.py MODEL SHARES.json FOLDER

SHARES.json holds for every rank its batches, [predictions, references] each; each rank writes what
it got after the first epoch, and after a second one of the first batches, to FOLDER/rank-RANK.json.
"""

import json
import sys
from pathlib import Path

import torch.distributed as dist

from infolm_metric.integrations.torchmetrics import InfoLM


def main(model, shares, folder):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    batches = json.loads(Path(shares).read_text())[rank]
    metric, found = InfoLM(model_name_or_path=model), []
    for epoch in (batches, batches[:1]):
        for predictions, references in epoch:
            metric.update(predictions, references)
        found.append(metric.compute().item())
        metric.reset()
    Path(folder, f"rank-{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
