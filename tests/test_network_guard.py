"""The network guard sees what it is there to see; otherwise every test that trusts it would pass for nothing."""

from __future__ import annotations

import pytest

from tests.network_guard import contacted, needs_strace

# 192.0.2.0/24 and 2001:db8::/32 are set aside for documentation, so that nobody can be reached there.
CONNECT = """
import socket
s = socket.socket(socket.{family}, socket.{kind}); s.setblocking(False)
try: s.{call}
except OSError: pass
s.close(); print("done")
"""


@needs_strace
class TestGuardSeesContacts:
    @pytest.mark.parametrize(
        ("family", "kind", "call", "address"),
        [
            ("AF_INET", "SOCK_STREAM", 'connect(("192.0.2.1", 9))', "192.0.2.1"),
            ("AF_INET", "SOCK_DGRAM", 'connect(("192.0.2.2", 9))', "192.0.2.2"),
            ("AF_INET", "SOCK_DGRAM", 'sendto(b"x", ("192.0.2.3", 9))', "192.0.2.3"),
            ("AF_INET6", "SOCK_STREAM", 'connect(("2001:db8::4", 9))', "2001:db8::4"),
        ],
    )
    def test_an_attempt_beyond_loopback_is_seen(self, family: str, kind: str, call: str, address: str) -> None:
        seen = contacted(CONNECT.format(family=family, kind=kind, call=call))
        assert seen.beyond_loopback == [address]
        assert (seen.returncode, seen.output) == (0, "done\n")

    def test_an_attempt_by_a_child_process_is_seen(self) -> None:
        code = CONNECT.format(family="AF_INET", kind="SOCK_STREAM", call='connect(("192.0.2.5", 9))')
        parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], check=True)"
        assert contacted(parent).beyond_loopback == ["192.0.2.5"]

    def test_an_attempt_by_a_thread_is_seen(self) -> None:
        code = CONNECT.format(family="AF_INET", kind="SOCK_STREAM", call='connect(("192.0.2.6", 9))')
        parent = f"import threading; t = threading.Thread(target=exec, args=({code!r},)); t.start(); t.join()"
        assert contacted(parent).beyond_loopback == ["192.0.2.6"]

    def test_loopback_in_any_form_is_no_contact(self) -> None:
        calls = ['connect(("127.0.0.1", 9))', 'connect(("127.8.9.1", 9))', 'connect(("0.0.0.0", 9))']
        code = "".join(CONNECT.format(family="AF_INET", kind="SOCK_STREAM", call=call) for call in calls)
        code += CONNECT.format(family="AF_INET6", kind="SOCK_STREAM", call='connect(("::ffff:127.0.0.1", 9))')
        seen = contacted(code)
        assert len(seen.addresses) == 4
        assert seen.beyond_loopback == []

    def test_a_program_that_cannot_be_started_is_an_error_and_not_a_clean_bill(self) -> None:
        with pytest.raises(RuntimeError, match="strace saw nothing"):
            contacted(["/nonexistent/program"])

    def test_the_environment_reaches_the_program(self) -> None:
        code = "import os; print(os.environ['GUARD_TEST'])"
        assert contacted(code, env={"GUARD_TEST": "值"}).output == "值\n"
