"""The crawl manager: one desk for forums kept fresh, topics crawled on purpose and databases behind search forms.

Layers, imports pointing down only (`tests/crawlmgr/test_layers.py` holds it):
  1 admin, <app>/admin, urls          what a browser shows
  2 tasks, management                 django-q2's entry points, the command line
  3 forums, focused, deepweb          the crawlers; never each other
  4 engine                            the crawl loop
  5 services (writes), reads          functions that change and that query the tables, one file per noun
  6 models                            tables
  7 web, text, the pure files         no Django

The life of a URL, and the file of each step:
  1 a crawler or an operator names it           services/frontier.py: add
  2 it is brought to one spelling and hashed     web/url.py: canonical, url_hash
  3 its host's turn comes and it is claimed,     services/frontier.py: claim_many, services/hosts.py: take_turns
    with those of other hosts
  4 robots.txt is asked                          services/fetching.py: verdict, web/robots.py
  5 it is fetched beside others, each from a     services/line.py, web/window.py, web/fetch.py, web/guard.py
    checked address
  6 the exchange is archived                     services/archive.py, web/warc.py
  7 the crawler reads it                         <app>/crawler.py: read, with the pure files of the app
  8 one transaction stores what several gave,    storing.py: keep
    ends the addresses and adds what they lead to
"""

__version__ = "0.1.0"
