"""The learned reader: models read a page independently of the hand-written rules, and the better of the two readings is taken.

Steps: candidates (links, texts) > features > scores > records > choice between the readings > doubt. Weights are data files.
"""
