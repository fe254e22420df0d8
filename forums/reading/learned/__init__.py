"""The learned second reader: candidates > features > scores > readings > choice and doubt. Weights are data beside the code."""
