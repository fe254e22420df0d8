"""Workers: nodes, their processes and their ranking, the queue of tasks, metrics, and the pages."""
