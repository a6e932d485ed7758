"""How a browser shows the page: layout, keyboard, contrast, no colour alone."""

import json
import re

import pytest

from ldpopt.engine.solving import solve
from ldpopt.problems import PROBLEMS
from ldpopt.report import page as report
from ldpopt.report.loading import read

REACHABLE = "a[href], summary, input, select, [tabindex='0']"
CONTRASTS = """
const parse = text => {
  const n = text.match(/-?[\\d.]+(e-?\\d+)?/g).map(Number), unit = text.startsWith("color(") ? 1 : 255;
  return [n[0] / unit, n[1] / unit, n[2] / unit, n.length > 3 ? n[3] : 1];
};
const luminance = c => {
  const [r, g, b] = c.map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = element => {
  if (!element) return [1, 1, 1];
  const [r, g, b, a] = parse(getComputedStyle(element).backgroundColor);
  const under = a < 1 ? behind(element.parentElement) : [0, 0, 0];
  return [r, g, b].map((x, i) => a * x + (1 - a) * under[i]);
};
const found = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join("").trim();
  if (!own || !element.getClientRects().length) continue;
  const style = getComputedStyle(element), svg = element instanceof SVGElement;
  const ink = luminance(parse(svg ? style.fill : style.color).slice(0, 3));
  const paper = luminance(behind(element));
  found.push([(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05), own]);
}
return found;
"""


PATIENCE = 60
"""Seconds after which a page counts as deaf; it answers at once unless the machine is busy."""


@pytest.fixture(scope="module")
def address(files, tmp_path_factory):
    """Designs, a plain result, one without a mechanism, a refuted one, a large one."""
    directory = tmp_path_factory.mktemp("page")
    document = json.loads(files["plain"].read_text())
    (directory / "false.json").write_text(json.dumps(document | {"value": 0.2}))
    problem = next(iter(PROBLEMS["statistic-leakage"].examples())).problem
    solve(problem).save(directory / "leakage.json")
    paths = [files["census"], files["nasty table"], directory / "false.json", directory / "leakage.json"]
    text = report.page(
        [
            *report.parts([read(files["census"])], 3600.0),
            *(report.described(read(path), f"r{i}", 0) for i, path in enumerate(paths[1:], start=2)),
        ]
    )
    page = directory / "page.html"
    page.write_text(text, encoding="utf-8")
    return page.as_uri()


@pytest.fixture
def opened(browser, address):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get_log("browser")
    browser.get(address)
    return browser


def unfold(driver):
    driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")


def emulate_width(driver, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def test_everything_is_displayed_and_nothing_is_loaded(opened):
    unfold(opened)
    sizes = opened.execute_script(
        "return [...document.querySelectorAll('table, figure, svg, img')].map(e => "
        "[e.tagName, e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
    )
    assert {tag.lower() for tag, _, _ in sizes} >= {"table", "figure", "svg"}
    assert all(width > 20 and height > 20 for _, width, height in sizes)
    assert opened.get_log("browser") == []
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_tab_key_reaches_everything(opened):
    from selenium.webdriver import ActionChains, Keys

    count = opened.execute_script(f'return document.querySelectorAll("{REACHABLE}").length')
    here = (
        f'const all = [...document.querySelectorAll("{REACHABLE}")], e = document.activeElement;'
        "return [all.indexOf(e), e.tagName, getComputedStyle(e).outlineStyle]"
    )
    visited = []
    for _ in range(count):
        ActionChains(opened).send_keys(Keys.TAB).perform()
        index, tag, outline = opened.execute_script(here)
        visited.append(index)
        assert outline not in ("none", "")
        if tag == "SUMMARY":  # what it unfolds comes next
            ActionChains(opened).send_keys(Keys.ENTER).perform()
    assert visited == list(range(count))


def test_the_skip_link_leads_to_the_content(opened):
    from selenium.webdriver import ActionChains, Keys

    ActionChains(opened).send_keys(Keys.TAB).send_keys(Keys.ENTER).perform()
    assert opened.execute_script("return document.activeElement.id") == "main"


def test_a_scrolling_table_scrolls_by_keyboard(opened):
    from selenium.webdriver import ActionChains, Keys

    emulate_width(opened, 400)
    unfold(opened)
    region = "document.querySelector('#r1 .more .scroll.tall')"
    opened.execute_script(f"{region}.focus()")
    for _ in range(5):
        ActionChains(opened).send_keys(Keys.ARROW_RIGHT).perform()
    left, corner, edge = opened.execute_script(
        f"const r = {region}; return new Promise(done => setTimeout(() => done([r.scrollLeft, "
        "r.querySelector('tbody tr:not(.group) th').getBoundingClientRect().left, "
        "r.getBoundingClientRect().left]), 500))"
    )
    assert left > 0
    assert corner == pytest.approx(edge, abs=2)  # the names of the rows stay in view


@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_never_scrolls_sideways(width, opened):
    emulate_width(opened, width)
    unfold(opened)
    scroll, client, inner = opened.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth, innerWidth]"
    )
    assert inner == width
    assert scroll == client


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme, opened):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    unfold(opened)
    found = opened.execute_script(CONTRASTS)
    assert len(found) > 200
    assert [text for contrast, text in found if contrast < 4.5] == []
    dark = opened.execute_script(
        "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert (max(dark) < 60) == (scheme == "dark")


def test_nothing_is_said_by_colour_alone(opened):
    unfold(opened)
    marks = opened.execute_script(
        "return [...document.querySelectorAll('.mark, .verdict')].map("
        "e => [e.innerText, e.classList.contains('holds')])"
    )
    assert {holds for _, holds in marks} == {True, False}
    for text, holds in marks:
        assert ("✓" in text and re.search("holds|Verified", text)) if holds else "✗ REFUTED" in text
    cells = opened.execute_script(
        "return [...document.querySelectorAll('.heat td')].map(e => e.innerText)"
    )
    assert cells
    assert all(re.fullmatch(r"\d(\.\d+)?(e-\d+)?|≈ 0", text) for text in cells)


def test_each_curve_has_its_own_marker_dashes_and_name(opened):
    curves = opened.execute_script(
        "return [...document.querySelectorAll('svg [id*=curve-curve-]')].map(g => [g.id, "
        "document.querySelector(g.querySelector('use').getAttribute('href')).getAttribute('d'), "
        "getComputedStyle(g.querySelector(':scope > path')).strokeDasharray])"
    )
    names = [name.removeprefix("r1-curve-curve-") for name, _, _ in curves]
    assert sorted(names) == ["srr", "staircase"]
    assert len({marker for _, marker, _ in curves}) == len({dashes for *_, dashes in curves}) == 2
    words = opened.execute_script(
        "return [...document.querySelectorAll('svg text')].map(e => e.textContent)"
    )
    assert {*names, "this result", "H(X) = 1.18: the data as they are"} <= set(words)


def press_at_its_right_end(driver, selector, heard):
    """Move the mouse there and press its button, as a hand does, until the page has heard it.

    Between the aim and the press the page may still move, and the press miss.
    """
    from selenium.webdriver import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    element = driver.find_element("css selector", selector)

    def pressed(_):
        driver.execute_script(
            "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element
        )
        right = driver.execute_script("return arguments[0].getBoundingClientRect().width / 2", element)
        ActionChains(driver).move_to_element_with_offset(element, int(right) - 5, 0).click().perform()
        return heard()

    WebDriverWait(driver, PATIENCE).until(pressed, f"no press at the right end of {selector} was heard")


def test_a_slider_and_the_figure_itself_choose_the_level(opened, files):
    from selenium.webdriver import ActionChains, Keys

    said = (
        "const b = document.querySelector('#r1 .explore'); return [b.querySelector('output').value, "
        "b.querySelector('.panel p').textContent, b.querySelectorAll('.panel td').length]"
    )
    own = opened.execute_script(said)
    assert own[0] == "ε = 1"
    value = f"{read(files['census']).result.value:.4g}"
    assert own[1].startswith(f"srr at ε = 1: {value}, information released")
    assert re.search(r"sex ±[\d.]+ points, race ±[\d.]+ points", own[1])
    assert own[2] == 10 * 10
    opened.execute_script("document.querySelector('#r1 .explore input').focus()")
    ActionChains(opened).send_keys(Keys.ARROW_LEFT).perform()
    assert opened.execute_script(said)[0] == "ε = 0.75"
    ActionChains(opened).send_keys(Keys.HOME).perform()
    least = opened.execute_script(said)
    assert least[0] == "ε = 0.25"
    assert least[1].startswith("srr at ε = 0.25: ")
    press_at_its_right_end(
        opened, "#r1 .explore input", lambda: opened.execute_script(said)[0] == "ε = 4"
    )
    ActionChains(opened).send_keys(Keys.HOME).perform()
    assert opened.execute_script(said)[0] == "ε = 0.25"
    press_at_its_right_end(opened, "#r1 figure svg", lambda: opened.execute_script(said)[0] == "ε = 4")
    opened.execute_script(
        "const s = document.querySelector('#r1 .explore select'); s.value = 'grr';"
        "s.dispatchEvent(new Event('change'))"
    )
    level, words, _ = opened.execute_script(said)
    assert level == "ε = 4"
    assert words.endswith("sex and race are hidden, whatever the distribution of the data [not checked]")


def test_on_paper_everything_is_unfolded_and_the_slider_is_gone(opened):
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    tall, slider = opened.execute_script(
        "return [document.querySelector('#r1 .heat').getBoundingClientRect().height, "
        "document.querySelector('#r1 .explore').getBoundingClientRect().height]"
    )
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert (tall > 50, slider) == (True, 0)
