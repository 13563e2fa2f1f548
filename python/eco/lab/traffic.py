"""Traffic of our own through a lab that is up: paced or greedy TCP flows, streams that come and go, and small packets
there and back.

Runs inside the lab (`python -m eco.lab.traffic`, orders as JSON on standard input, results on standard output). One
process drives all hosts: a socket belongs to the namespace it was made in, whoever uses it afterwards.
"""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from eco.lab.namespaces import NETNS_DIR, inside

_CHUNK = 16_384
#: A stream looks this often whether it is to stop.
_LOOK_S = 0.1


def _in_host(host: str, make: Callable[[], Any]) -> Any:
    fd = os.open(NETNS_DIR / host, os.O_RDONLY)
    try:
        with inside(fd):
            return make()
    finally:
        os.close(fd)


class Flow:
    """One TCP connection that carries data one way for a while.

    Without a window the kernel's buffers grow as it likes, and megabytes of a greedy flow wait in the network.
    """

    def __init__(
        self,
        source: str,
        target: str,
        target_ip: str,
        payload_bit_per_s: float | None,
        window_bytes: int | None = None,
    ) -> None:
        self.rate = payload_bit_per_s
        self.received: list[tuple[float, int]] = []
        listener = _in_host(target, lambda: socket.create_server((target_ip, 0)))
        # Made in the source's namespace, connected through the network.
        self.out = _in_host(source, socket.socket)
        if window_bytes is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window_bytes)  # taken over by accept
            self.out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, window_bytes)
        self.out.settimeout(20)
        self.out.connect((target_ip, listener.getsockname()[1]))
        self.into, _ = listener.accept()
        listener.close()
        self.into.settimeout(None)
        self.out.settimeout(None)
        self.out.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _CHUNK)

    def send(self, start: float, end: float) -> None:
        """Send from `start` to `end`: as fast as it goes, or at the rate. Nothing follows."""
        self.push(start, end)
        self.finish()

    def push(self, start: float, end: float) -> None:
        """Send from `start` to `end`; more may follow."""
        data = bytes(_CHUNK)
        time.sleep(max(0.0, start - time.monotonic()))
        sent = 0
        while (now := time.monotonic()) < end:
            if self.rate is not None:
                due = start + sent * 8 / self.rate
                if due > now:
                    time.sleep(due - now)
            self.out.sendall(data)
            sent += len(data)

    def finish(self) -> None:
        self.out.shutdown(socket.SHUT_WR)

    def receive(self) -> None:
        """Receive all, noting when how much had come."""
        buffer = bytearray(1 << 18)
        total = 0
        while n := self.into.recv_into(buffer):
            total += n
            self.received.append((time.monotonic(), total))
        self.into.close()
        self.out.close()

    def payload_bit_per_s(self, begin: float, end: float) -> float:
        """The rate between two moments, from the first and last arrival between them."""
        inside_window = [(t, n) for t, n in self.received if begin <= t <= end]
        if len(inside_window) < 2:
            return 0.0
        (t0, n0), (t1, n1) = inside_window[0], inside_window[-1]
        return (n1 - n0) * 8 / (t1 - t0)


def run_flows(order: dict[str, Any]) -> list[float]:
    """The payload rate of each flow, all at once, leaving out how they start."""
    flows = [
        Flow(f["source"], f["target"], f["target_ip"], f.get("payload_bit_per_s")) for f in order["flows"]
    ]
    start = time.monotonic() + 0.05
    end = start + order["seconds"]
    threads = [threading.Thread(target=f.receive) for f in flows]
    threads += [threading.Thread(target=f.send, args=(start, end)) for f in flows]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    settled = start + 0.3 * (end - start)
    return [f.payload_bit_per_s(settled, end) for f in flows]


def run_streams(order: dict[str, Any]) -> list[float]:
    """Greedy streams that come and go until standard input ends: the payload rate of each, its pauses counted.

    How long each is on and off is drawn around `on_s` and `off_s` by the seed; the same seed, the same times.
    """
    flows = [
        Flow(f["source"], f["target"], f["target_ip"], None, order["window_bytes"]) for f in order["flows"]
    ]
    over = threading.Event()
    start = time.monotonic()

    def come_and_go(flow: Flow, number: int) -> None:
        draw = random.Random(f"{order['seed']} {number}")
        is_on, until = True, start
        while not over.is_set():
            until += draw.expovariate(1 / order["on_s" if is_on else "off_s"])
            while is_on and not over.is_set() and (now := time.monotonic()) < until:
                flow.push(now, min(until, now + _LOOK_S))
            if not is_on:
                over.wait(max(0.0, until - time.monotonic()))
            is_on = not is_on
        flow.finish()

    threads = [threading.Thread(target=f.receive) for f in flows]
    threads += [threading.Thread(target=come_and_go, args=(f, i)) for i, f in enumerate(flows)]
    for t in threads:
        t.start()
    print("on", flush=True)
    sys.stdin.read()
    end = time.monotonic()
    over.set()
    for t in threads:
        t.join()
    return [f.received[-1][1] * 8 / (end - start) if f.received else 0.0 for f in flows]


def run_trips(order: dict[str, Any]) -> list[float]:
    """The shortest one-way time of UDP packets of `payload_bytes`; one machine has one clock."""
    best = []
    for pair in order["pairs"]:

        def udp(ip: str) -> Callable[[], socket.socket]:
            def make() -> socket.socket:
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.bind((ip, 0))
                s.settimeout(5)
                return s

            return make

        out = _in_host(pair["source"], udp(pair["source_ip"]))
        into = _in_host(pair["target"], udp(pair["target_ip"]))
        data = bytes(order["payload_bytes"])
        shortest = float("inf")
        for _ in range(order["trips"]):
            begin = time.monotonic()
            out.sendto(data, into.getsockname())
            into.recv(2048)
            shortest = min(shortest, time.monotonic() - begin)
            time.sleep(0.002)
        best.append(shortest)
        out.close()
        into.close()
    return best


_DO = {"flows": run_flows, "streams": run_streams, "trips": run_trips}


def main() -> None:
    """Run the order on standard input, one line."""
    order = json.loads(sys.stdin.readline())
    json.dump(_DO[order["do"]](order), sys.stdout)


if __name__ == "__main__":
    main()
