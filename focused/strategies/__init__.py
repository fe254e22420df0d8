"""The crawl strategies by name, found by searching the files of this package. Further strategies
are named in the setting TOPIC_STRATEGIES by the dotted names of their classes.
"""
