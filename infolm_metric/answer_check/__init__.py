"""answer_check: agreement of an LLM's answer with a reference answer."""
