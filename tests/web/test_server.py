"""Starting and stopping the server."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from app import create_app
from arpm.errors import ArpmError
from arpm.settings import Settings
from arpm.web.server import Server
from tests.patience import PATIENCE
from tests.support import open_service

PROGRAM = """
import sys
from pathlib import Path
from arpm.web.server import serve
from tests.support import open_service
with open_service(Path(sys.argv[1])) as service:
    import dataclasses
    serve(service, dataclasses.replace(service.settings, port=0), lambda url: print(url, flush=True))
print("closed", flush=True)
"""


class TestStarting:
    def test_a_port_in_use_is_told_with_the_remedy(self, logs: Path) -> None:
        with open_service(logs) as service, socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(ArpmError, match=rf"port {port} is in use.*ARPM_PORT"):
                Server(create_app(service), Settings(logs=logs, port=port))

    def test_an_address_of_another_machine(self, logs: Path) -> None:
        with open_service(logs) as service, pytest.raises(ArpmError, match=r"192\.0\.2\.1"):
            Server(create_app(service), Settings(logs=logs, host="192.0.2.1", port=0, token="secret-token"))


class TestStopping:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
    def test_a_signal_ends_it_in_order(self, logs: Path, number: signal.Signals) -> None:
        command = [sys.executable, "-c", PROGRAM, str(logs)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = server.stdout.readline().strip()
                assert httpx.get(f"{url}healthz", trust_env=False).json() == {"status": "ok"}
                server.send_signal(number)
                output, errors = server.communicate(timeout=PATIENCE)
            finally:
                server.kill()
        assert output == "closed\n"
        assert "Traceback" not in errors
        assert server.returncode == 0
