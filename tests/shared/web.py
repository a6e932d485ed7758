"""Parse a page and decide whether it is sound HTML that stands alone."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """What a page consists of; a tag that does not close in order is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.loads, self.words = [], [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.loads += [given["src"]] if "src" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    def all(self, tag):
        return [given for name, given in self.tags if name == tag]


def sound(text):
    """The page, parsed: balanced, with unique ids and no link into the void or the network."""
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids)
    for link in page.links:
        assert link == "data:," or (link.startswith("#") and link[1:] in page.ids)
    assert all(source.startswith("data:image/png;base64,") for source in page.loads)
    assert not re.search(r"url\((?!#)|@import|<script(?!>| type=.application/json)", text)
    programs = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [b64encode(sha256(program.encode()).digest()).decode() for program in programs]
    assert len(programs) <= 1
    assert all(f"script-src 'sha256-{digest}'" in text for digest in digests)
    for name in ("aria-labelledby", "aria-describedby"):
        assert {given[name] for _, given in page.tags if name in given} <= set(page.ids)
    assert (
        len(page.all("h1")) == len(page.all("main")) == len(page.all("title")) - text.count("<svg") == 1
    )
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.all("html") == [{"lang": "en"}]
    assert all(given.get("alt") for given in page.all("img"))
    assert all("scope" in given for given in page.all("th"))
    for _, given in page.tags:
        if "scroll" in given.get("class", "").split():
            assert given["role"] == "region"
            assert given["tabindex"] == "0"
            assert given["aria-label"]
    return page
