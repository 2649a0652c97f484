"""Render the result of a comparison as one HTML file.

The template is ``templates/report.html``. Jinja2 escapes all text that comes from the data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
