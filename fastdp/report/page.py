"""A self-contained HTML page: no font, no request, and no script but its own."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from fastdp._version import __version__

STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #444; --pale: #666; --line: #ccc; --calm: #e8f3e8;
  --bar: #2060a0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --soft: #bbb; --pale: #999; --line: #4a4a4a; --calm: #1e3324; --bar: #6aa5e0; }
  body { background: #161616; }
}
* { box-sizing: border-box; } svg { max-width: 100%; height: auto; } svg text { fill: currentColor; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  overflow-wrap: break-word; max-width: 1180px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.2em; margin-top: 2em; }
.maps { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 300px), 1fr)); gap: 14px; }
figure { margin: 0; } figure img { width: 100%; image-rendering: pixelated; border: 1px solid #999; display: block; }
figcaption { font-size: .85em; color: var(--soft); }
figcaption b { display: block; color: var(--ink); font-size: 1.1em; }
.none { border: 1px dashed #999; aspect-ratio: 1; display: grid; place-items: center; text-align: center;
  color: var(--pale); }
.edge { display: flex; justify-content: space-between; font-size: .75em; color: var(--soft); }
.edge b { font-weight: normal; text-align: center; border: 1px solid; border-top: 0; line-height: 1.3; }
output { display: block; min-height: 1.5em; font-size: .85em; font-variant-numeric: tabular-nums; }
.scale { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; font-size: .85em; margin: 8px 0 0; }
.scale img { height: 12px; width: 256px; border: 1px solid #999; }
.charts { display: flex; flex-wrap: wrap; gap: 14px; }
.charts svg { width: 460px; max-width: 100%; font: 11px system-ui, sans-serif; }
.wide { overflow-x: auto; }
svg .grid { stroke: var(--line); } svg .mark { stroke: #999; stroke-dasharray: 4 3; }
table { border-collapse: collapse; margin: 1em 0; display: block; max-width: 100%; overflow-x: auto; }
td, th { border: 1px solid var(--line); padding: 3px 9px; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.loud { background: #a00; color: #fff; padding: 10px 16px; font-size: 1.1em; }
.calm { background: var(--calm); padding: 10px 16px; }
footer { margin-top: 3em; font-size: .8em; color: var(--pale); }
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""What a browser lets the page do, even if something crept into it: show its own pictures."""


def make_page(title: str, *parts: str, script: str | None = None) -> str:
    """The whole page, of parts that are HTML already; with a script, the browser runs that one and no other."""
    policy, end = POLICY, ""
    if script is not None:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy, end = f"{POLICY}; script-src 'sha256-{digest}'", f"<script>{script}</script>"
    head = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{STYLE}</style></head>'
    )
    foot = f"<footer>Made by fastdp {escape(__version__)}. This page holds all that it shows.</footer>"
    return "\n".join([head + "<body>", f"<h1>{escape(title)}</h1>", *parts, foot, end + "</body></html>\n"])


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def picture(address: str | None, name: str, about: str) -> str:
    """A picture with its name and what there is to say; a frame where there is none."""
    caption = f"<figcaption><b>{escape(name)}</b>{escape(about)}</figcaption>"
    if address is None:
        return f'<figure><div class="none">none</div>{caption}</figure>'
    return f'<figure><img src="{address}" alt="map: {escape(name, quote=True)}">{caption}</figure>'


def table(names: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[int] = (0,)) -> str:
    """A table; all columns are numbers but those of ``texts``, by default the first."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(
            f"<td>{escape(cell)}</td>" if place in texts else f'<td class="number">{escape(cell)}</td>'
            for place, cell in enumerate(row)
        ) + "</tr>"
        for row in rows
    )  # fmt: skip
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
