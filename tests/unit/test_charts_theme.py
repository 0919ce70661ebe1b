"""Colours of charts: readable in light and dark, and apart from each other as colour-blind people see them."""

import itertools
import math
import re
from xml.etree import ElementTree

import pytest

from scylla_gha.report.charts.arms import forest
from scylla_gha.report.charts.theme import PALETTE, Color, palette_css
from scylla_gha.report.view import report_view
from tests.support.charts import SVG
from tests.support.reports import full_report

Linear = tuple[float, ...]
# What is left of linear RGB with full dichromacy. Source: Machado, Oliveira and Fernandes 2009, table 1, severity 1.0.
SIGHTS = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
TEXTS: tuple[Color, ...] = ("text", "muted", "better", "worse", "equivalent", "unclear")
PARTS: tuple[Color, ...] = ("part-1", "part-2", "part-3", "part-4", "part-5")
LEVELS: tuple[Color, ...] = ("level-none", "level-few", "level-most", "level-all")


def linear(color: str) -> Linear:
    channels = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in channels)


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio."""
    light, dark = sorted((sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear(color), strict=True))
                          for color in (one, other)), reverse=True)  # fmt: skip
    return (light + 0.05) / (dark + 0.05)


def lab(color: str, sight: str) -> Linear:
    r, g, b = (min(1.0, max(0.0, sum(m * x for m, x in zip(row, linear(color), strict=True)))) for row in SIGHTS[sight])
    parts = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b,
             (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)  # fmt: skip
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in parts)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_and_marks_stand_out_from_what_is_behind_them(theme: int) -> None:
    surface, text = PALETTE["surface"][theme], PALETTE["text"][theme]
    weak = {name: contrast(PALETTE[name][theme], surface) for name in (*TEXTS, *PARTS)}
    assert {name: ratio for name, ratio in weak.items() if ratio < 4.5} == {}
    assert min(contrast(PALETTE[level][theme], text) for level in LEVELS) > 4.5


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_parts_of_a_bar_differ_for_colour_blind_people(theme: int, sight: str) -> None:
    colors = [lab(PALETTE[part][theme], sight) for part in PARTS]
    assert min(math.dist(one, other) for one, other in itertools.combinations(colors, 2)) > 30
    better, worse = (lab(PALETTE[name][theme], sight) for name in ("better", "worse"))
    assert math.dist(better, worse) > 30


def test_a_picture_takes_its_colours_from_the_page_and_as_a_file_brings_both_themes() -> None:
    chart = forest(report_view(full_report()))
    assert chart
    colors = {value for element in ElementTree.fromstring(chart.svg).iter() for name, value in element.items()
              if name in {"fill", "stroke"}} - {"none", "transparent"}  # fmt: skip
    assert colors
    assert [color for color in colors if not re.fullmatch(r"var\(--chart-[a-z0-9-]+,#[0-9a-f]{6}\)", color)] == []
    file = ElementTree.fromstring(chart.file)
    (style,) = file.findall(f"{SVG}style")
    assert style.text == (f"svg{{{palette_css('light')}}}@media(prefers-color-scheme:dark)"
                          f"{{svg{{{palette_css('dark')}}}}}")  # fmt: skip
    assert file.get("role") == "img"
    assert [child.text for child in list(file)[:2]] == [chart.title, chart.alternative]
