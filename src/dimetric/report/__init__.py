"""Reports: what a comparison found, as one HTML file.

The template is ``templates/report.html``; Jinja2 escapes every text that comes from the data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
