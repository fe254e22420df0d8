"""The crawl manager: one web interface, called the desk, for incremental forum crawls, focused
topic crawls and deep web harvests.

A noun has one folder, with its services, its reads and its pages of the desk (`desk.py`): access,
alarms, archive, database, exports, frontier, runs, schedule, upkeep, workers. `models` has the
tables, `admin` the frame of the desk (site, views, tables, charts, forms), `web` and `text` the
rules of the web and of words. The crawl loop is in `engine.py` and `storing.py`."""

__version__ = "0.2.0"
