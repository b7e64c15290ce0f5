from infolm_metric.commands.main import main

raise SystemExit(main())
