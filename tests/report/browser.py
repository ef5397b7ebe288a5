"""A real browser without a window, and a proxy that hears every request it makes."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import numpy as np

from tests.patience import PATIENCE
from tests.report.html import read_png

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = os.environ.get("FASTDP_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)

OWN = "*.google.com;*.googleapis.com;*.gvt1.com;*.gstatic.com"
"""Where the browser itself looks for updates and the time; no page of ours can name them, which other tests check."""


class Listener:
    """Takes connections on this machine, and keeps the first line of what comes."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    self.requests.append(connection.recv(4096).split(b"\r\n")[0].decode("latin-1"))
                except OSError:
                    self.requests.append("a connection without a request")

    def close(self) -> None:
        self._socket.close()


def show(page: str, folder: Path, width: int = 1250, *, dark: bool = False) -> tuple[np.ndarray, list[str]]:
    """The dots of a screenshot of the page, and the requests that the browser made for it."""
    file, picture = folder / "page.html", folder / "page.png"
    file.write_text(page)
    listener = Listener()
    try:
        subprocess.run(
            [
                BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-default-apps", "--disable-extensions", "--disable-domain-reliability",
                "--disable-features=OptimizationHints,MediaRouter,Translate", "--force-device-scale-factor=1",
                f"--user-data-dir={folder / 'profile'}", f"--proxy-server=http://127.0.0.1:{listener.port}",
                f"--proxy-bypass-list={OWN}", f"--blink-settings=preferredColorScheme={int(not dark)}",
                f"--window-size={width},1400", f"--screenshot={picture}", file.as_uri(),
            ],
            check=True, capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
    finally:
        listener.close()
    return read_png(picture.read_bytes()), listener.requests


class Tab:
    """A page in a browser that can be asked and given keys, over the pipe of the DevTools protocol."""

    def __init__(self, page: str, folder: Path) -> None:
        file = folder / "page.html"
        file.write_text(page)
        theirs, self._write = os.pipe()
        self._read, ours = os.pipe()
        high = [os.dup(end) for end in (theirs, ours) for _ in range(8)]  # numbers beyond 4, which the browser uses

        def place() -> None:
            os.dup2(high[7], 3)
            os.dup2(high[15], 4)

        self._process = subprocess.Popen(
            [
                BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe", "about:blank",
            ],
            preexec_fn=place, pass_fds=(3, 4),  # noqa: PLW1509 - no other thread of a test holds a lock
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (theirs, ours, *high):
            os.close(end)
        self._buffer, self._number, self._session, self.events = b"", 0, None, []
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        found = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = found["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call("Page.navigate", url=file.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._receive()

    def _receive(self) -> dict:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            new = os.read(self._read, 1 << 16)
            assert new, "the browser has ended"
            self._buffer += new
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def call(self, method: str, **parameters) -> dict:
        """Send a command, and wait for its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def ask(self, expression: str):
        """The value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """A key, down and up, as from the keyboard."""
        more = {"key": key, "code": key, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", **more)

    @property
    def complaints(self) -> list[dict]:
        """Errors of scripts, and what the policy of the page has blocked."""
        return [e for e in self.events if e["method"] in {"Runtime.exceptionThrown", "Log.entryAdded"}]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        for end in (self._read, self._write):
            os.close(end)
