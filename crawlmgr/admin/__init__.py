"""The web interface ("desk"): views, forms and lists in Django's admin, and what their templates
use."""
