"""Parse the pages of reports, and texts that a page must escape."""

from html.parser import HTMLParser

EVIL = "<script>alert('x')</script>"
NAMES = [
    EVIL,
    "a & b",
    "$x^2$ \\alpha",
    "{{ 7 * 7 }} {% for %}",
    "\u200fעברית",
    'long "name" ' * 30,
]


class Page(HTMLParser):
    """The tags, attributes and text of a page. Raises if a tag is not closed in order."""

    def __init__(self, content):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), [], ""
        self.feed(content)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in ("br", "meta", "img", "source"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += " " if tag in ("td", "th") else ""

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data

    @property
    def words(self):
        return " ".join(self.text.split())
