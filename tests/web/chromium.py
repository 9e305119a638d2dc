"""A real browser for tests: Chromium without a window, driven over a pipe by the DevTools protocol.

A pipe needs no port, no websocket and no package: messages are JSON with a NUL after each.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)


class Page:
    """One open page. `problems` collects what the browser complained about: errors and policy violations."""

    def __init__(self, write: RawIOBase, read: RawIOBase) -> None:
        self.problems: list[str] = []
        self._write = write
        self._read = read
        self._pending = b""
        self._last = 0
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, url: str, width: int = 1280, height: int = 800, *, dark: bool = False) -> None:
        """Go to an address with a window of that size."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is awaited."""
        result = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def until(self, condition: str, seconds: float = 15) -> None:
        """Wait until an expression in the page is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < end, f"never true: {condition}; problems: {self.problems}"
            time.sleep(0.05)

    def key(self, key: str, text: str = "") -> None:
        """Press a key, as a person does."""
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text: str) -> None:
        """Write into what has the focus."""
        self._call("Input.insertText", text=text)

    def screenshot(self, path: Path) -> None:
        """What the window shows, as PNG."""
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        """End the browser."""
        self._session = None
        self._call("Browser.close")

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._last:
                assert "error" not in answer, (method, answer)
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)
        raise AssertionError("the browser ended")

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" not in self._pending:
                data = self._read.read(65536)
                if not data:
                    return
                self._pending += data
            message, _, self._pending = self._pending.partition(b"\0")
            yield json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif event.get("method") == "Log.entryAdded":
            self.problems.append(event["params"]["entry"]["text"])
        elif event.get("method") == "Page.javascriptDialogOpening":
            self.problems.append(f"dialog: {event['params']['message']}")


@contextmanager
def chromium(folder: Path) -> Iterator[Page]:
    """A browser with a profile of its own in `folder`."""
    command_read, command_write = os.pipe()
    answer_read, answer_write = os.pipe()
    # Chromium reads commands from descriptor 3 and answers on 4.
    shell = f'exec "$0" "$@" 3<&{command_read} 4>&{answer_write}'
    process = subprocess.Popen(
        ["bash", "-c", shell, str(CHROMIUM), *_FLAGS, f"--user-data-dir={folder}"],
        pass_fds=(command_read, answer_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(command_read)
    os.close(answer_write)
    try:
        with os.fdopen(command_write, "wb", 0) as write, os.fdopen(answer_read, "rb", 0) as read:
            page = Page(write, read)
            yield page
            page.close()
    finally:
        process.kill()
        process.wait()
