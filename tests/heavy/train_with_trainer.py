"""Fine-tune a sequence-to-sequence model with Seq2SeqTrainer, keeping the best by InfoLM.

    python train_with_trainer.py MODEL PAIRS.jsonl METRIC_MODEL FOLDER

Each line of PAIRS.jsonl has a "source" and a "target". The log of the Trainer is written to
FOLDER/log.json.
"""

import json
import sys
from pathlib import Path

import datasets
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

from infolm_metric.integrations.transformers import compute_metrics


def main(name, table, metric_model, folder, **options):
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForSeq2SeqLM.from_pretrained(name)

    def tokenize(row):
        return tokenizer(row["source"], text_target=row["target"], return_token_type_ids=False)

    pairs = datasets.load_dataset("json", data_files=table, split="train")
    pairs = pairs.map(tokenize, remove_columns=pairs.column_names).train_test_split(16, seed=0)
    arguments = Seq2SeqTrainingArguments(
        output_dir=folder,
        num_train_epochs=4,
        per_device_train_batch_size=8,
        learning_rate=3e-2,
        eval_strategy="epoch",
        save_strategy="epoch",
        predict_with_generate=True,
        generation_max_length=12,
        metric_for_best_model="infolm_loss",
        load_best_model_at_end=True,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        **options,
    )
    metrics = compute_metrics(tokenizer, args=arguments, model_name_or_path=metric_model)
    trainer = Seq2SeqTrainer(
        model,
        arguments,
        train_dataset=pairs["train"],
        eval_dataset=pairs["test"],
        data_collator=DataCollatorForSeq2Seq(tokenizer, model),
        processing_class=tokenizer,
        compute_metrics=metrics,
    )
    trainer.train()
    at_end = trainer.evaluate()["eval_infolm"]  # score of the best model, loaded at the end
    state = trainer.state
    log = {"log": state.log_history, "best": state.best_metric, "at_end": at_end}
    log["checkpoint"] = Path(state.best_model_checkpoint).name
    Path(folder, "log.json").write_text(json.dumps(log))


if __name__ == "__main__":
    main(*sys.argv[1:])
