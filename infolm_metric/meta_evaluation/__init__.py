"""Agreement of metrics with human judgement."""
