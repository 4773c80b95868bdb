"""The report: one HTML file with the measurements of all experiments and their figures; some figures also as files.

It loads nothing from elsewhere, so it can be opened from a disk or sent by mail.
"""

from __future__ import annotations

import io
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from study.experiment import Experiment, Finding, Part, Plot, Row, Spread, Table, Text

mpl.use("svg")
# Text stays text, and the same numbers give the same file.
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "colonnade", "font.size": 9})

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc }
nav { columns: 2; font-size: 90% } nav a { display: block }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: 90%; margin: .5rem 0 }
caption { text-align: left; font-weight: 600; padding: .3rem 0 }
th, td { padding: .15rem .6rem; border-bottom: 1px solid #eee; text-align: right; vertical-align: top }
th { border-bottom: 1px solid #999 } .left { text-align: left } td.left:first-child { min-width: 13rem }
figure { margin: 1rem 0 } figcaption { font-weight: 600 } svg { max-width: 100%; height: auto }
pre { background: #f6f6f6; padding: .6rem; overflow-x: auto; font-size: 85%; line-height: 1.35 }
.source, .ran { color: #666; font-size: 90% } .yes { color: #17692c } .no { color: #a3261c }
"""
INTRODUCTION = """<p>This report repeats the measurements of two papers with current systems and with Colonnade:
“Don't Hold My Data Hostage” (Raasveldt &amp; Mühleisen, VLDB 2017) and “ConnectorX” (Wang et al., VLDB 2022). The last
two chapters repeat those of chapters 6 and 4 of “Integrating Analytics with Relational Databases” (Raasveldt, Leiden
2020). <code>make study</code> makes it.</p>
<p>A cell of a table is one reading. If a cell was measured several times, it shows the median, followed by the least
and the greatest reading in small type. Client and server run on the same machine, which each chapter names at its end.
Lines marked “(paper)” are the papers' figures, measured on the papers' machines.</p>
<p>The figures that the README shows come first. The next chapter compares each claim of the papers with the
measurements here: the claim still holds, no longer holds, or cannot be told on this machine. Each other chapter has one
experiment with all of its tables.</p>"""
#: The figures at the beginning.
FIRST = ("systems", "networks", "wire_bytes")
VERDICTS = {
    True: '<b class="yes">still holds</b>',
    False: '<b class="no">no longer holds</b>',
    None: "<b>cannot be told here</b>",
}


def number(value: str | float | int | Spread | None) -> str:
    """Three digits if there is a fraction; thousands are separated. Of a spread, the median is first."""
    if value is None:
        return "–"
    if isinstance(value, Spread):
        return f"{number(value.median)} <small>{number(value.least)}–{number(value.most)}</small>"
    if isinstance(value, float):
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4
        return f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else escape(value)


def table(part: Table) -> str:
    # A column of text is aligned as text.
    texts = [all(isinstance(row[k], str | None) for row in part.rows) for k in range(len(part.columns))]
    marks = [' class="left"' if text else "" for text in texts]
    head = "".join(f"<th{mark}>{escape(name)}</th>" for name, mark in zip(part.columns, marks, strict=True))
    lines = [
        "<tr>" + "".join(f"<td{mark}>{number(cell)}</td>" for cell, mark in zip(row, marks, strict=True)) + "</tr>"
        for row in part.rows
    ]
    body = "\n".join(lines)
    return (
        f'<div class="wide"><table><caption>{escape(part.caption)}</caption>\n<tr>{head}</tr>\n{body}\n</table></div>'
    )


def drawn(part: Plot) -> str:
    """The figure as an SVG element."""
    figure, axes = plt.subplots(figsize=(part.width, part.height), layout="constrained")
    try:
        part.draw(axes)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    finally:
        plt.close(figure)
    return out.getvalue()


def shown(part: Part) -> str:
    match part:
        case Table():
            return table(part)
        case Text(text, is_code=True):
            return f"<pre>{escape(text)}</pre>"
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Plot():
            # The XML declaration before the element is not allowed within HTML.
            svg = drawn(part)
            return f"<figure>{svg[svg.index('<svg') :]}<figcaption>{escape(part.caption)}</figcaption></figure>"


def ran(measured: dict[str, Any]) -> str:
    facts = [f"{what}: {it}" for what, it in measured["machine"].items()]
    return escape(f"{measured['size']} size, {measured['seconds']} s; {'; '.join(facts)}")


def section(name: str, one: Experiment, measured: dict[str, Any]) -> list[str]:
    rows: list[Row] = measured["rows"]
    lines = [f'<h2 id="{name}">{escape(one.title)}</h2>', f'<p class="source">{escape(one.source)}</p>']
    lines.append(f"<p>{escape(one.question)}</p>")
    if reason := measured.get("unmeasurable") or measured.get("error"):
        return [*lines, f"<p><b>Not measured:</b> {escape(reason)}</p>"]
    return [*lines, *map(shown, one.show(rows)), f'<p class="ran">{ran(measured)}</p>']


def changes(findings: list[tuple[str, Experiment, Finding]]) -> list[str]:
    """The chapter that compares the papers' claims with the measurements."""
    lines = ['<h2 id="changes">What changed since 2017</h2>', '<div class="wide"><table>']
    lines.append('<tr><th class="left">Finding of a paper</th><th class="left">Measured here</th><th></th></tr>')
    for name, one, finding in findings:
        claim = f'{escape(finding.claim)} <a class="source" href="#{name}">{escape(one.source)}</a>'
        cells = (claim, escape(finding.today), VERDICTS[finding.holds])
        lines.append("<tr>" + "".join(f'<td class="left">{cell}</td>' for cell in cells) + "</tr>")
    return [*lines, "</table></div>"]


def write(into: Path, measured: list[tuple[Experiment, dict[str, Any]]]) -> Path:
    """Writes `index.html`, and a file for each figure that has a name."""
    findings, sections, first = [], [], []
    links = ['<a href="#changes">What changed since 2017</a>']
    for one, found in measured:
        name = found["experiment"]
        links.append(f'<a href="#{name}">{escape(one.title)}</a>')
        sections += section(name, one, found)
        if found["rows"]:
            findings += [(name, one, finding) for finding in one.findings(found["rows"])]
            for part in one.show(found["rows"]):
                if isinstance(part, Plot) and part.name:
                    (into / f"{part.name}.svg").write_text(drawn(part))
                    if part.name in FIRST:
                        first.append(shown(part))
    html = [
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Result sets, measured again</title>\n<style>{STYLE}</style>",
        "<h1>Result sets, measured again</h1>",
        INTRODUCTION,
        f"<nav>{''.join(links)}</nav>",
        *first,
        *changes(findings),
        *sections,
        "</html>\n",
    ]
    path = into / "index.html"
    path.write_text("\n".join(html))
    return path
