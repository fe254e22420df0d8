"""The learned reader: trained models read a page independently of the hand-written rules ("the
rules"), and for each page the better of the two readings is taken.

Steps: candidates (links, texts), features, scores, records, choice between the two readings, doubt
about the result. The models' weights are data files.
"""
