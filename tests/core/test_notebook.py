"""What a notebook shows of a mechanism: a small table, every text escaped."""

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.image import imread

from ldpopt import Mechanism
from ldpopt.core import notebook

TAGS = {"table", "caption", "tr", "th", "td", "img"}


class Cells(HTMLParser):
    """The rows of all tables, and their captions."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.captions, self.tags = [], [], set()
        self._texts = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "caption":
            self.captions.append("")
            self._texts = self.captions
        elif tag in ("th", "td"):
            self.rows[-1].append("")
            self._texts = self.rows[-1]

    def handle_endtag(self, tag):
        self._texts = None

    def handle_data(self, data):
        self._texts[-1] += data


def test_a_mechanism_shows_its_matrix():
    shown = Cells(Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])._repr_html_())
    assert shown.rows == [["", "0", "1"], ["no", "0.75", "0.25"], ["yes", "0.25", "0.75"]]
    assert shown.captions == ["P(output | input), rounded: 2 inputs, 2 outputs, ε ≈ 1.09861"]


def test_labels_are_text():
    evil = "<script>alert('&')</script>"
    html = Mechanism([[0.5, 0.5]], inputs=[evil], outputs=["a", ("<i>", 1)])._repr_html_()
    shown = Cells(html)
    assert shown.tags == TAGS
    assert shown.rows == [["", "a", "('<i>', 1)"], [evil, "0.5", "0.5"]]


@pytest.mark.parametrize(("n", "m"), [(12, 12), (13, 12), (12, 13), (200, 300)])
def test_large_matrices_are_cut(n, m):
    shown = Cells(Mechanism(np.full((n, m), 1 / m))._repr_html_())
    assert len(shown.rows) == 1 + min(n, 12) + (n > 12)
    assert {len(row) for row in shown.rows} == {1 + min(m, 12) + (m > 12)}
    assert ("…" in shown.rows[0], shown.rows[-1][0] == "…") == (m > 12, n > 12)


def pixels(html):
    """The grey values of the picture in a display, read back."""
    data = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1])
    image = np.asarray(imread(io.BytesIO(data), format="png"))
    return np.round(255 * image).astype(int)


def test_a_mechanism_shows_as_a_picture():
    shown = pixels(Mechanism([[0.75, 0.25], [0.5, 0.5]])._repr_html_())
    assert shown.tolist() == [[0, 170], [85, 85]]  # 255 (1 − p / 0.75)


@pytest.mark.parametrize(("n", "m"), [(1, 3), (201, 5), (7, 300)])
def test_the_picture_is_cut_after_two_hundred(n, m):
    shown = pixels(Mechanism(np.full((n, m), 1 / m))._repr_html_())
    assert shown.shape == (min(n, 200), min(m, 200))
    assert not shown.any()


def test_a_table_without_rows():
    assert Cells(notebook.table("nothing", [])).rows == []
