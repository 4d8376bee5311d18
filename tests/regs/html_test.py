#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The generated page in headless Chromium, from a file: search, console, every place of the map, no other resource.

  html_test.py RNIC_REGS MAP [--screenshots DIR]

Status 77 where no chromium is installed (Debian: chromium), or where it cannot even show an empty page.
"""

import argparse
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Runs in the page behind its own script: queries, and what they leave visible, into an element that --dump-dom prints.
PROBE = """
<script>
"use strict";
(async () => {
  const out = {errors: window.probeErrors, queries: {}};
  const input = document.getElementById("search");
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (const query of %s) {
    input.value = query;
    input.dispatchEvent(new Event("input"));
    await wait(200);
    const visible = [...document.querySelectorAll("main .item")].filter((e) => e.offsetParent !== null);
    out.queries[query] = {
      items: visible.map((e) => e.id),
      links: [...document.querySelectorAll("nav li")].filter((e) => !e.hidden).length,
      headings: [...document.querySelectorAll("main h2")].filter((e) => e.offsetParent !== null).length,
      found: document.getElementById("found").textContent,
    };
  }
  out.broken = [...document.querySelectorAll('a[href^="#"]')].map((a) => a.getAttribute("href").slice(1))
    .filter((id) => document.getElementById(id) === null);
  out.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const pre = document.createElement("pre");
  pre.id = "probe";
  pre.textContent = JSON.stringify(out);
  document.body.append(pre);
})();
</script>
"""
CATCH = '<script>window.probeErrors = []; window.onerror = (m) => { window.probeErrors.push(String(m)); };' \
        'console.error = (...a) => window.probeErrors.push(a.join(" "));</script>'


class Resources(html.parser.HTMLParser):
    """What the page would load, and whether its elements are closed in order."""

    VOID = {"meta", "link", "input", "br", "rect"}

    def __init__(self):
        super().__init__()
        self.loads, self.open, self.bad, self.ids = [], [], [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "data") and not value.startswith(("#", "data:")):
                self.loads.append(value)
            if name == "id":
                self.ids.append(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        # Cells and rows of tables, and paragraphs, are all closed here.
        if not self.open or self.open.pop() != tag:
            self.bad.append((tag, self.getpos()))


def chromium(url, *options):
    profile = tempfile.mkdtemp(prefix="regs_html_")
    try:
        return subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                               f"--user-data-dir={profile}", "--enable-logging=stderr", "--log-level=0", *options,
                               url], capture_output=True, text=True, timeout=900, check=True)
    finally:
        shutil.rmtree(profile, ignore_errors=True)


def check(condition, what):
    if not condition:
        sys.exit(f"FAIL: {what}")


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="regs_page_"))
    subprocess.run([OPTIONS.program, "gen", OPTIONS.map, "--outputs", "html", "--out-dir", work], check=True,
                   stdout=subprocess.DEVNULL)
    page = next(work.glob("*.html"))
    text = page.read_text()

    parsed = Resources()
    parsed.feed(text)
    check(parsed.loads == [], f"other resources: {parsed.loads}")
    check(parsed.bad == [] and parsed.open == [], f"elements not closed in order: {parsed.bad[:3]} {parsed.open[:3]}")
    check(len(parsed.ids) == len(set(parsed.ids)), "an id is given twice")
    check("@import" not in text and "url(" not in text, "the style loads something")
    digest = subprocess.run([OPTIONS.program, "gen", OPTIONS.map, "--outputs", "c", "--out-dir", work], check=True,
                            capture_output=True)
    header = next(work.glob("*_regs.h")).read_text()
    found = re.search(r"_MAP_HASH (0x[0-9a-f]+)", header).group(1)
    check(digest.returncode == 0 and found in text, f"map hash {found} is not on the page")
    registers = [i for i in parsed.ids if re.fullmatch(r"\w+\.[A-Z]\w*", i) and not i.startswith(("const.", "enum."))]
    check(len(registers) > 10 and text.count("<svg") >= 10, "registers or diagrams are missing")

    if BROWSER is None:
        print("skipped: no chromium")
        sys.exit(77)
    try:
        chromium("about:blank", "--dump-dom")
    except (OSError, subprocess.SubprocessError) as error:
        print(f"skipped: chromium does not start: {error}")
        sys.exit(77)
    one = registers[0]
    queries = [one, one.lower() + "  " + one.split(".")[1].lower(), "no such thing anywhere", ""]
    probe = work / "probe.html"
    probe.write_text(text.replace("<style>", CATCH + "<style>", 1).replace("</body>", PROBE % json.dumps(queries) + "</body>"))
    result = chromium(probe.as_uri(), "--virtual-time-budget=8000", "--dump-dom")
    answer = re.search(r'<pre id="probe">(.*?)</pre>', result.stdout, re.S)
    check(answer is not None, "the page's script did not come to an end: " + result.stderr[-500:])
    out = json.loads(html.unescape(answer.group(1)))
    console = [x for x in result.stderr.splitlines() if "CONSOLE" in x]
    check(out["errors"] == [] and console == [], f"errors: {out['errors']} {console}")
    check(out["broken"] == [], f"links to nothing: {out['broken'][:5]}")
    check(out["wide"] <= 0, f"the page is {out['wide']} pixels too wide")
    everything = out["queries"][""]
    for query in queries[:2]:
        got = out["queries"][query]
        check(one in got["items"] and 1 <= len(got["items"]) < len(everything["items"]), f"search {query!r}: {got}")
        check(got["headings"] < everything["headings"], f"search {query!r} hides no group")
    nothing = out["queries"][queries[2]]
    check(nothing["items"] == [] and nothing["links"] == 0 and nothing["found"] == "nothing found", f"{nothing}")
    check(len(everything["items"]) > 10 and everything["found"] == "", f"an empty search: {everything['found']}")
    linked = chromium(page.as_uri(), "--virtual-time-budget=3000", "--dump-dom")
    check("CONSOLE" not in linked.stderr, "console: " + linked.stderr[-300:])

    for name, size, extra in (("light", "1400,1600", []), ("dark", "1400,1600", ["--blink-settings=preferredColorScheme=0"]),
                              ("narrow", "500,1200", [])) if OPTIONS.screenshots else ():
        chromium(page.as_uri(), f"--window-size={size}", f"--screenshot={pathlib.Path(OPTIONS.screenshots).resolve()}/{name}.png", *extra)
    print(f"ok: {len(everything['items'])} items, search, links and console, {len(text)} bytes")


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("program")
parser.add_argument("map")
parser.add_argument("--screenshots")
OPTIONS = parser.parse_args()
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
main()
