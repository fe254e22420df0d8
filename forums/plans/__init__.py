"""Plans of visits: their days, the adaptive policy in operation, and the start of what is due."""
