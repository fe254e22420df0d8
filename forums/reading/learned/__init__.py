"""The learned reader, used beside the rules: candidates > features > scores > readings > choice and doubt. Weights are data
files."""
