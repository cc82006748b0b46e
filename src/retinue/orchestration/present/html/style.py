"""How a page looks: light and dark by the reader's own wish, and on paper. All of it stands in the page itself."""

from typing import Final

STYLE: Final = """
:root {
  color-scheme: light dark;
  --ink: #1c2127; --soft: #5b6570; --faint: #dfe3e8; --paper: #ffffff; --tint: #f5f7f9; --link: #0b5cad;
  --good: #1a7f4b; --warn: #9a6100; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e7eb; --soft: #9aa5b1; --faint: #343b44; --paper: #15191e; --tint: #1d2229; --link: #7db8f5;
    --good: #5cc48f; --warn: #e0a84a; --bad: #f28b82;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 50rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: break-word;
}
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .25rem; }
p, ul, ol, pre, figure, blockquote { margin: .75rem 0; }
li + li { margin-top: .25rem; }
li > ul, li > ol { margin: .25rem 0; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875em; }
code { background: var(--tint); border-radius: .25em; padding: .1em .2em; }
pre { background: var(--tint); border-radius: .5rem; padding: .75rem 1rem; overflow-x: auto; }
pre code { background: none; padding: 0; }
blockquote { border-left: .2rem solid var(--faint); padding-left: 1rem; color: var(--soft); }
.meta { color: var(--soft); margin: 0; font-size: .9rem; }
.meta b { color: var(--ink); }
.meta b.good { color: var(--good); } .meta b.warn { color: var(--warn); } .meta b.bad { color: var(--bad); }
header { border-bottom: 1px solid var(--faint); padding-bottom: 1rem; margin-bottom: 1.5rem; }
h2 .by { font-weight: 400; font-size: .85rem; color: var(--soft); margin-left: .5rem; white-space: nowrap; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; line-height: 1.45; font-variant-numeric: tabular-nums; }
caption, figcaption { text-align: left; font-weight: 600; font-size: .95rem; margin-bottom: .35rem; }
th, td { text-align: left; padding: .35rem 1.5rem .35rem 0; border-bottom: 1px solid var(--faint);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; font-size: .8rem; white-space: nowrap; }
td.number, th.number { text-align: right; }
td.number, td.time, td code { white-space: nowrap; }
tbody tr:hover { background: var(--tint); }
.more, .note { color: var(--soft); font-size: .85rem; margin: .25rem 0; }
.sources { font-size: .85rem; color: var(--soft); margin: 1rem 0; }
.sources ul { list-style: none; padding: 0; margin: .25rem 0; display: flex; flex-wrap: wrap; gap: .3rem .5rem; }
.sources li { margin: 0; }
figure { overflow-x: auto; }
svg { width: 100%; min-width: 34rem; height: auto; display: block; }
.aside { border-left: .25rem solid var(--warn); background: var(--tint); border-radius: 0 .5rem .5rem 0;
  padding: .5rem 1.25rem 1rem; margin: 2rem 0 0; }
.aside.failures { border-color: var(--bad); }
.aside.questions { border-color: var(--link); }
.aside h2 { margin-top: .5rem; font-size: 1.05rem; }
details { margin-top: 2.5rem; border-top: 1px solid var(--faint); padding-top: 1rem; }
summary { cursor: pointer; color: var(--soft); }
footer { margin-top: 2.5rem; color: var(--soft); font-size: .8rem; }
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  svg { min-width: 0; }
  .scroll, figure, pre { overflow: visible; white-space: normal; }
  figure, tr, .aside { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  details > * { display: block; }
  a { color: inherit; }
}
"""

COLOURS: Final = {
    "#2f6fb3": "#6ea8e0", "#d9822b": "#eba45e", "#3d9a6b": "#6cc598",
    "#a4508b": "#d28bbd", "#7a6fce": "#a9a0ee", "#8a7340": "#c4ab74",
}  # fmt: skip
"""Of the series of charts, in light and in dark mode; they begin again after the last."""

_DARK: Final = "\n".join(
    f'    svg [fill="{light}"] {{ fill: {dark}; }} svg [stroke="{light}"] {{ stroke: {dark}; }}'
    for light, dark in COLOURS.items()
)
CHART_STYLE: Final = f"""
  svg text {{ font: 12px system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; fill: #5b6570; }}
  svg text.title {{ font-size: 16px; font-weight: 600; }} svg text.title, svg text.value {{ fill: #1c2127; }}
  svg .tick line {{ stroke: #dfe3e8; }} svg .tick line[stroke="#a8a8a8"] {{ stroke: #5b6570; }}
  svg path {{ stroke-linecap: round; stroke-linejoin: round; }} svg .paper {{ fill: #ffffff; }}
  @media (prefers-color-scheme: dark) {{
    svg text {{ fill: #9aa5b1; }} svg text.title, svg text.value {{ fill: #e4e7eb; }} svg .paper {{ fill: #15191e; }}
    svg .tick line {{ stroke: #343b44; }} svg .tick line[stroke="#a8a8a8"] {{ stroke: #9aa5b1; }}
{_DARK}
  }}
"""
