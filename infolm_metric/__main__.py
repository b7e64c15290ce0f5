from infolm_metric.cli import main

raise SystemExit(main())
