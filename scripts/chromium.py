"""Debian's Chromium, headless and alone: for the pictures in docs/ and for the browser tests."""

from __future__ import annotations

import base64
import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

__all__ = [
    "MISSING",
    "ActionChains",
    "By",
    "Keys",
    "WebDriverWait",
    "accessibility",
    "accessibility_tree",
    "browsing",
    "commands",
    "event_of",
    "picture",
    "prefer",
    "resize",
    "smaller",
]

MISSING = "no chromium and chromedriver: apt-get install chromium chromium-driver"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
)


def commands() -> tuple[str, str] | None:
    """The browser and its driver, where both are installed."""
    found = shutil.which("chromium"), shutil.which("chromedriver")
    return (found[0], found[1]) if found[0] and found[1] else None


@contextmanager
def browsing(folder: Path, *, width: int = 1200, height: int = 900) -> Iterator[webdriver.Chrome]:
    """A fresh browser with its data in this folder. Nothing is fetched: the driver is the installed one."""
    found = commands()
    if found is None:
        raise SystemExit(MISSING)
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(found[1]))
    try:
        resize(browser, width, height)
        yield browser
    finally:
        browser.quit()


def resize(browser: webdriver.Chrome, width: int, height: int) -> None:
    """Set the size of the page in CSS pixels, also below what a window can have."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(browser: webdriver.Chrome, *, dark: bool = False, still: bool = False) -> None:
    """What the reader prefers: a colour scheme, and less motion."""
    features = [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def picture(browser: webdriver.Chrome, height: int | None = None) -> bytes:
    """The whole page as PNG, or its first pixels."""
    size = browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
    taken = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": True}
    )
    return base64.b64decode(taken["data"])


def smaller(png: bytes) -> bytes:
    """The same picture with 256 colours."""
    few = Image.open(io.BytesIO(png)).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


def event_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The DevTools event of a line of the performance log."""
    return dict(json.loads(entry["message"])["message"])


def accessibility(browser: webdriver.Chrome, rules: str) -> list[str]:
    """What axe-core's rules for WCAG 2.2 AA find wrong with the page as it is."""
    # through DevTools: the page's own policy lets no script in
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": rules})
    wanted = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}"
    expression = f"axe.run(document, {wanted}).then(found => JSON.stringify(found.violations))"
    asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
    answer = browser.execute_cdp_cmd("Runtime.evaluate", asked)
    violations = json.loads(answer["result"]["value"])
    return [
        f"{v['id']}: {node['html'][:200]} {node['failureSummary']}" for v in violations for node in v["nodes"]
    ]


def accessibility_tree(browser: webdriver.Chrome) -> list[tuple[str, str]]:
    """Role and name of everything that a screen reader is told of."""
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]
