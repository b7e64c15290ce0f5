"""Entry point of `python -m infolm_metric`."""

from infolm_metric.commands.main import main

raise SystemExit(main())
