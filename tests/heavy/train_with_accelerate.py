"""Fine-tune a sequence-to-sequence model in plain PyTorch, on one or more processes.

    accelerate launch train_with_accelerate.py MODEL PAIRS.jsonl METRIC_MODEL FOLDER

After every epoch, each process generates a part of the outputs, and all processes get the score of
all outputs. The model with the lowest score is kept in FOLDER/best. The scores and the last outputs
are written to FOLDER/log-RANK.json.
"""

import json
import sys
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, DataCollatorForSeq2Seq

from infolm_metric import InfoLM


def main(name, table, metric_model, folder):
    accelerator = Accelerator(cpu=True)
    set_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForSeq2SeqLM.from_pretrained(name)
    infolm = InfoLM(model_name_or_path=metric_model, device="cpu")
    pairs = [json.loads(line) for line in Path(table).read_text().splitlines()]
    held_out, pairs = pairs[:15], pairs[15:]  # two processes get unequal parts of 15

    def encode(row):
        return tokenizer(row["source"], text_target=row["target"], return_token_type_ids=False)

    collate = DataCollatorForSeq2Seq(tokenizer, model)
    loader = DataLoader(list(map(encode, pairs)), batch_size=8, shuffle=True, collate_fn=collate)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    @torch.inference_mode()
    def generate(rows):
        texts = [row["source"] for row in rows]
        inputs = tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
        ids = accelerator.unwrap_model(model).generate(**inputs, max_length=12)
        return tokenizer.batch_decode(ids, skip_special_tokens=True)

    log = []
    for epoch in range(3):
        model.train()
        for batch in loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        with accelerator.split_between_processes(held_out) as share:
            predictions = generate(share)
            references = [row["target"] for row in share]
        results = infolm.compute(predictions=predictions, references=references, ranks="share")
        log.append({"epoch": epoch, "infolm": results["infolm"], "pairs": len(results["scores"])})
        accelerator.print(f"epoch {epoch}: infolm {results['infolm']:.4f}")
        if accelerator.is_main_process and results["infolm"] == min(e["infolm"] for e in log):
            accelerator.unwrap_model(model).save_pretrained(Path(folder, "best"))
    texts = {"outputs": generate(held_out), "targets": [row["target"] for row in held_out]}
    report = Path(folder, f"log-{accelerator.process_index}.json")
    report.write_text(json.dumps({"log": log, **texts}))
    accelerator.end_training()


if __name__ == "__main__":
    main(*sys.argv[1:])
