"""A real browser without a window, and a proxy that hears every request it makes."""

from __future__ import annotations

import os
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


def show(page: str, folder: Path, width: int = 1250) -> tuple[np.ndarray, list[str]]:
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
                f"--proxy-bypass-list={OWN}",
                f"--window-size={width},1400", f"--screenshot={picture}", file.as_uri(),
            ],
            check=True, capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
    finally:
        listener.close()
    return read_png(picture.read_bytes()), listener.requests
