"""Ports: one allocator, no port twice, busy ones skipped and their holder named."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator

import pytest

from tests.unit.runtime.workshop import free_port
from toolcrib.errors import SettingsError
from toolcrib.runtime.ports import NoPortError, PortAllocator, PortHolder, can_bind, holder_of, listening_ports
from toolcrib.settings import load_settings


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A stranger's port."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server


def test_T022_E069_ports_are_handed_out_upwards_and_never_twice() -> None:
    first = min(free_port(), 65000)
    ports = PortAllocator(first, first + 100)
    given = [ports.reserve() for _ in range(20)]
    assert given == sorted(set(given))
    assert ports.reserved == set(given)


def test_E069_the_routers_own_port_is_never_a_tools() -> None:
    router = free_port()
    with pytest.raises(NoPortError):
        PortAllocator(router, router, excluded=(router,)).reserve()
    with pytest.raises(NoPortError):
        PortAllocator(router, router, excluded=(router,)).reserve(router)


def test_T022_a_busy_port_is_skipped(listener: socket.socket) -> None:
    busy = listener.getsockname()[1]
    if busy == 65535:
        pytest.skip("there is no next port")
    assert not can_bind(busy)
    assert PortAllocator(busy, 65535).reserve() > busy


def test_T022_a_port_on_all_addresses_is_busy_too() -> None:
    with socket.socket() as server:
        server.bind(("0.0.0.0", 0))
        server.listen()
        assert not can_bind(server.getsockname()[1])


def test_T022_the_holder_of_a_busy_port_is_named(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    holder = holder_of(port)
    assert holder.pid == os.getpid()
    assert str(holder).startswith(f"port {port} is held by ")
    assert f"(pid {os.getpid()}: " in str(holder), "and what it was started with"
    assert str(PortHolder(port)) == f"port {port} is held by another program"


def test_T022_a_released_port_is_used_again_and_the_preferred_one_first() -> None:
    port = free_port()
    ports = PortAllocator(port, port)
    assert ports.reserve() == port
    with pytest.raises(NoPortError, match=f"No port from {port} to {port} is free"):
        ports.reserve()
    ports.release(port)
    ports.release(port)
    assert ports.reserve() == port
    wider = PortAllocator(1024, 65535)
    assert wider.reserve(preferred := free_port()) == preferred


def test_T022_avoided_ports_are_left_out() -> None:
    port = free_port()
    with pytest.raises(NoPortError):
        PortAllocator(port, port).reserve(port, avoid={port})


def test_T022_connections_of_an_earlier_run_do_not_make_a_port_busy() -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()
        client.close()
    assert can_bind(port)


def test_E067_what_a_process_listens_on_is_known(listener: socket.socket) -> None:
    assert listener.getsockname()[1] in listening_ports(os.getpid())
    assert listening_ports(2**22 + 1) == set()
    assert sys.platform != "linux" or listener.getsockname()[1] not in listening_ports(os.getppid())


def test_T022_a_range_that_ends_before_it_begins_is_a_setting_to_correct() -> None:
    with pytest.raises(SettingsError, match=r"last_tool_port.* 8999 is below TOOLCRIB_FIRST_TOOL_PORT, which is 9500"):
        load_settings(first_tool_port=9500)
    assert load_settings(first_tool_port=8999).last_tool_port == 8999
