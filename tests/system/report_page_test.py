#!/usr/bin/env python3
"""report_page_test.py SAMPLE: the HTML report in a real browser. SAMPLE writes the made-up report of tests/unit/report."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from browser import tab  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

SAMPLE = os.path.abspath(sys.argv[1])


def page(*words):
    path = os.path.abspath("report.html")
    with open(path, "wb") as file:
        subprocess.run([SAMPLE, "html", *words], stdout=file, check=True)
    return "file://" + path


SHOWN = "Array.from(document.querySelectorAll('tbody tr')).filter(r => !r.hidden)"
NAMES = f"{SHOWN}.map(r => r.querySelector('.name').textContent)"
ALL = ["GitHub personal access token", "Password", "</script><script>alert(1)</script>"]


def type_into(browser, text):
    browser.ask(f"(e => {{ e.value = {text!r}; e.dispatchEvent(new Event('input', {{bubbles: true}})); }})"
                "(document.forms[0].elements.search)")
    settle(browser)


def settle(browser):
    browser.ask("new Promise(done => setTimeout(done, 200))")


def click(browser, key):
    browser.ask(f"document.querySelector('th[data-key={key}] button').click()")


@test
def a_hostile_repository_runs_nothing_and_asks_for_nothing():
    with tab() as browser:
        address = page()
        browser.open(address)
        settle(browser)
        equal(browser.dialogs, [])
        equal(browser.complaints, [], "nothing to complain about")
        equal(browser.requests, [address], "nothing but the page itself is asked for")
        equal(browser.ask("document.querySelectorAll('script').length"), 1)
        equal(browser.ask("document.querySelectorAll('img, a:not([rel]), b, iframe, object').length"), 0)
        equal(browser.ask(NAMES), ALL)
        holds("onerror=alert(1)" in browser.ask("document.body.textContent"), "names are shown as text")
        # The page has no control characters, and no characters that change the direction of text.
        equal(browser.ask("/[\\u202a-\\u202e\\u2066-\\u2069\\u0000-\\u0008]/.test(document.body.textContent)"), False)


@test
def the_policy_stops_a_script_that_got_in():
    """The last line of defence is the page's policy. With it, the browser refuses a planted script and a
    planted handler."""
    address = page()
    with open("report.html", encoding="utf-8") as file:
        text = file.read()
    with open("report.html", "w", encoding="utf-8") as file:
        file.write(text.replace("<main>", "<main><script>alert('in')</script><img src='data:x' onerror='alert(1)'>", 1))
    with tab() as browser:
        browser.open(address)
        settle(browser)
        equal(browser.dialogs, [])
        holds(len(browser.complaints) >= 2, f"refused: {browser.complaints}")
        equal(browser.ask(NAMES), ALL, "the page's own script runs")


@test
def words_severities_and_rules_filter():
    with tab() as browser:
        browser.open(page())
        shown = "document.querySelector('output').value"
        equal(browser.ask(shown), "3 shown")
        type_into(browser, "DEPLOY ada")
        equal(browser.ask(NAMES), ALL[:1])
        equal(browser.ask(shown), "1 of 3 shown")
        type_into(browser, "no such thing")
        equal(browser.ask(NAMES), [])
        type_into(browser, "")
        equal(browser.ask(NAMES), ALL)
        for value, names in (("1", ALL[:2]), ("2", ALL[:1]), ("0", ALL)):
            browser.ask(f"(e => {{ e.value = '{value}'; e.dispatchEvent(new Event('input', {{bubbles: true}})); }})"
                        "(document.forms[0].elements.confidence)")
            settle(browser)
            equal(browser.ask(NAMES), names, f"confidence from {value}")
        browser.ask("document.querySelector('label.critical input').click()")
        settle(browser)
        equal(browser.ask(NAMES), ALL[1:])
        browser.ask("(e => { e.value = 'team-odd'; e.dispatchEvent(new Event('input', {bubbles: true})); })"
                    "(document.forms[0].elements.rule)")
        settle(browser)
        equal(browser.ask(NAMES), ALL[2:])


@test
def every_column_sorts_both_ways():
    with tab() as browser:
        browser.open(page())
        for key, first in (("severity", ALL), ("finding", [ALL[2], ALL[0], ALL[1]]), ("count", ALL)):
            click(browser, key)
            equal(browser.ask(NAMES), first, key)
        click(browser, "severity")
        click(browser, "severity")
        equal(browser.ask(NAMES), ALL[::-1])
        equal(browser.ask("document.querySelector('th[data-key=severity]').getAttribute('aria-sort')"), "ascending")
        click(browser, "commit")
        equal(browser.ask(NAMES)[0], ALL[1], "the newest commit first, whatever its date")
        click(browser, "place")
        equal(browser.ask(f"{SHOWN}[0].querySelector('.place').textContent")[:10], "=HYPERLINK")


@test
def without_scripts_it_is_a_plain_table():
    with tab() as browser:
        browser.without_scripts()
        browser.open(page())
        outline = browser.outline()
        texts = " ".join(name or "" for _, name in outline)
        for part in ("GitHub personal access token", "config/deploy.env:12:7", "Ada Lovelace", "INCOMPLETE"):
            holds(part in texts, part)
        equal([name for role, name in outline if role == "searchbox"], [], "no control that does nothing")


@test
def five_thousand_findings_filter_and_sort():
    with tab() as browser:
        browser.open(page("many", "5000"))
        equal(browser.ask(f"{SHOWN}.length"), 5000)
        type_into(browser, ":4999:")
        settle(browser)
        equal(browser.ask(f"{SHOWN}.length"), 1)
        type_into(browser, "")
        settle(browser)
        click(browser, "count")
        equal(browser.ask("Number(document.querySelector('tbody tr').dataset.count)"), 7)
        click(browser, "count")
        equal(browser.ask("Number(document.querySelector('tbody tr').dataset.count)"), 1)
        equal(browser.ask(f"{SHOWN}.length"), 5000)


@test
def nothing_sticks_out_of_a_narrow_window_and_both_schemes_can_be_read():
    with tab() as browser:
        for width in (360, 1280):
            browser.size(width, 900)
            browser.open(page())
            holds(browser.ask("document.documentElement.scrollWidth") <= width, f"fits {width}")
        colours = {}
        for scheme in ("light", "dark"):
            browser.media(prefers_color_scheme=scheme)
            colours[scheme] = browser.ask("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
        holds(colours["light"] != colours["dark"], colours)


main()
