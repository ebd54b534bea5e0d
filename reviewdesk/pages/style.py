"""The style sheet of a page: light and dark, wide, narrow and printed."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1c1f24; --soft: #565d68; --paper: #fff; --panel: #f5f6f8;
  --rule: #d5d9e0; --pass: #0b6b3a; --fail: #a8201a; --open: #7a4d00; --accent: #1f4fa3;
  --band: #dbe6f6; --warn: #fff4d6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ec; --soft: #a4abb8; --paper: #14161a;
  --panel: #1d2026; --rule: #3a3f49; --pass: #6fd79b; --fail: #ff9a92; --open: #f0c069;
  --accent: #8fb6ff; --band: #24344f; --warn: #3a3014; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
header, main, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; margin: 2.5rem 0 .75rem; padding-bottom: .25rem;
  border-bottom: 2px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
h4 { font-size: .9rem; margin: 1rem 0 .25rem; color: var(--soft); }
p { margin: .5rem 0; overflow-wrap: anywhere; }
ul { margin: .5rem 0; padding-left: 1.25rem; }
li { overflow-wrap: anywhere; }
h1, h3, p, li, dd, .reason span { overflow-y: clip; }
.reason span { display: block; }
a { color: var(--accent); }
code, pre { font: .875rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono",
  monospace; overflow-wrap: anywhere; }
pre { margin: 0; padding: .6rem .75rem; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 6px; white-space: pre-wrap; max-height: 30rem; overflow-y: auto; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; }
.lead, .muted { color: var(--soft); }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr));
  gap: .4rem 1.5rem; margin: 1rem 0; }
.facts dt { font-size: .8rem; color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; }
.cards > div { background: var(--panel); border: 1px solid var(--rule); border-radius: 8px;
  padding: .7rem .9rem; display: flex; flex-direction: column; }
.big { font-size: 1.7rem; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr));
  gap: 0 2rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 650; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0;
  border-bottom: 1px solid var(--rule); }
thead th { color: var(--soft); font-weight: 500; white-space: nowrap; }
tbody th { font-weight: 500; overflow-wrap: anywhere; min-width: 7rem; }
td:not(:last-child) { white-space: nowrap; }
.figures td:last-child { color: var(--soft); min-width: 12rem; }
.jury .reason td { white-space: pre-wrap; overflow-wrap: anywhere; padding-left: 1rem;
  border-left: 3px solid var(--rule); }
.jury tbody tr:first-child > * { border-bottom: 0; padding-top: .6rem; }
.warning { background: var(--warn); border-left: 4px solid var(--open); padding: .5rem 1rem;
  border-radius: 4px; margin: 1rem 0; }
.word { font-weight: 650; }
.word.pass { color: var(--pass); }
.word.fail { color: var(--fail); }
.word.open { color: var(--open); }
.verdict { border: 1px solid var(--rule); border-radius: 8px; padding: .8rem 1rem;
  margin: .9rem 0; overflow: clip; }
.test { color: var(--soft); margin: .1rem 0 0; }
.standing { display: flex; flex-wrap: wrap; gap: .15rem 1.25rem; align-items: baseline; }
.flags { font-size: .9rem; }
summary { cursor: pointer; color: var(--accent); padding: .25rem 0; }
figure { margin: 1.5rem 0; }
figcaption { font-weight: 650; }
.plot { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: center; }
.plot svg { flex: 1 1 22rem; max-width: 32rem; height: auto; }
.plot p { flex: 1 1 14rem; font-size: .9rem; }
svg text { font: 13px system-ui, sans-serif; fill: var(--soft); }
.grid { stroke: var(--rule); stroke-width: 1; }
.ideal { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 6 5; }
.band { fill: var(--band); }
.whisker { stroke: var(--ink); stroke-width: 1.5; }
.inside { fill: var(--pass); stroke: var(--paper); stroke-width: 1.5; }
.below { fill: var(--fail); stroke: var(--paper); stroke-width: 1.5; }
.above { fill: var(--open); stroke: var(--paper); stroke-width: 1.5; }
.bar { fill: var(--soft); opacity: .55; }
footer { margin-top: 3rem; padding-bottom: 2rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) { body { font-size: 15px; }
  header, main, footer { padding-left: .9rem; padding-right: .9rem; }
  .verdict { padding: .7rem .75rem; } }
@media print { :root { --ink: #000; --soft: #444; --paper: #fff; --panel: #fff; --rule: #bbb;
  --pass: #0b6b3a; --fail: #a8201a; --open: #6b4400; --accent: #000; --band: #e4e4e4;
  --warn: #fff; }
  @page { margin: 16mm 14mm; }
  body { font-size: 10pt; } nav { display: none; }
  header, main, footer { max-width: none; padding: 0; }
  .wide { overflow: visible; } pre { max-height: none; overflow: visible; }
  h2, h3, h4, caption, thead, figcaption { break-after: avoid; }
  .cards, figure svg, .jury tbody, tr, .standing, .flags { break-inside: avoid; }
  summary { color: var(--soft); }
  details::details-content { content-visibility: visible; block-size: auto; } }
"""
"""The CSS. No meaning is shown by colour alone, and nothing is fetched."""
