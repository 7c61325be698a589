"""One person's browser without the browser: Streamlit's websocket protocol, spoken by hand.

A click is a `BackMsg` with the address, the changed widgets and the hashes of the messages that
the browser still holds; the answer is every `ForwardMsg` up to `script_finished`. Large messages
come as a reference to an earlier one, which a browser keeps for two runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

_CLOCK: Final = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d|"
    rb"\d\d? [A-Z][a-z]{2}(?: \d{4})?, \d\d\\*:(?:\xe2\x81\xa0|\\u2060)?\d\d"
)
"""When work that begins now is done: another minute, another text, as texts and charts have it."""
_RUNS: Final = re.compile(r"\*\*Epochwise\*\* .* ([\d,]+) runs?\b")
_COLOUR: Final = re.compile(r"#[0-9A-Fa-f]{6}|rgba\([^)]*\)")
PATIENCE_S: Final = 120.0
HELD_RUNS: Final = 2
"""Runs after which a browser lets a message go that no run referred to."""
Path = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The elements of one run, parsed on first use, so not during the campaign."""

    deltas: Mapping[Path, Delta]
    host: bytes
    bytes_received: int

    @cached_property
    def elements(self) -> Mapping[Path, bytes]:
        """The elements of the main part by their place, each as its bytes."""
        return {path: _content(element, self.host) for path, element in self._drawn().items()}

    @property
    def errors(self) -> tuple[str, ...]:
        """What its exception boxes say."""
        boxes = (e for e in self._drawn().values() if e.WhichOneof("type") == "exception")
        return tuple(box.exception.message for box in boxes)

    @cached_property
    def runs(self) -> int:
        """The number of all runs, as the side bar states it; -1 where it does not."""
        elements = (d.new_element for path, d in self.deltas.items() if path and path[0] == 1)
        texts = (e.markdown.body for e in elements if e.WhichOneof("type") == "markdown")
        counts = (_RUNS.search(text) for text in texts)
        return next((int(found[1].replace(",", "")) for found in counts if found), -1)

    @cached_property
    def digest(self) -> str:
        """The same for the same page."""
        drawn = hashlib.sha256()
        for path, content in sorted(self.elements.items()):
            drawn.update(f"{path}{len(content)}".encode() + content)
        return drawn.hexdigest()

    def _drawn(self) -> dict[Path, Element]:
        """Without the side bar, where the number of all runs stands."""
        return {
            path: delta.new_element
            for path, delta in self.deltas.items()
            if path and path[0] == 0 and delta.WhichOneof("type") == "new_element"
        }


@dataclass(slots=True)
class _Run:
    """The messages of one run so far."""

    deltas: dict[Path, Delta] = field(default_factory=dict)
    size: int = 0
    done: bool = False


class Visitor:
    """A session of its own; use `async with`, then `click`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._host = url.removeprefix("http://")
        self._held: dict[str, tuple[int, ForwardMsg]] = {}
        self._runs = 0
        self._pages: dict[str, str] = {}
        self._inputs: dict[str, str] = {}
        self._socket: ClientConnection | None = None
        self._page, self._query = "", ""

    async def __aenter__(self) -> Self:
        cookies = await asyncio.to_thread(_cookies, self._host)
        self._socket = await connect(
            f"ws://{self._host}/_stcore/stream",
            additional_headers={"Cookie": cookies} if cookies else None,
            subprotocols=["streamlit"],  # type: ignore[list-item]  # a NewType of str
            origin=self._url,  # type: ignore[arg-type]  # as for the switch
            max_size=None,
            open_timeout=PATIENCE_S,
            ping_interval=None,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def click(self, page: str, query: str, number: tuple[str, int] | None = None) -> Page:
        """Open `page` under `query`, or type a whole number into a field of the open page.

        Args:
            page: the last part of the page's address; "" is the first page.
            query: what stands behind the question mark.
            number: the key of the field, and the number.
        """
        message = BackMsg()
        state = message.rerun_script
        state.query_string = query
        state.context_info.url = f"{self._url}/{page}"
        state.context_info.timezone, state.context_info.locale = "Europe/Berlin", "en-US"
        if page in self._pages:
            state.page_script_hash = self._pages[page]
        else:
            state.page_name = page
        if number is not None:
            changed = state.widget_states.widgets.add()
            changed.id, changed.double_value = self._inputs[number[0]], float(number[1])
        state.cached_message_hashes.extend(self._held)
        assert self._socket is not None
        await self._socket.send(message.SerializeToString())
        async with asyncio.timeout(PATIENCE_S):
            return await self._answer()

    @property
    def query(self) -> str:
        """What stands behind the question mark now: the app writes there too."""
        return self._query

    async def _answer(self) -> Page:
        assert self._socket is not None
        run = _Run()
        while not run.done:
            data = await self._socket.recv()
            assert isinstance(data, bytes)
            run.size += len(data)
            self._take(ForwardMsg.FromString(data), run)
        self._runs += 1
        self._held = {h: m for h, m in self._held.items() if self._runs - m[0] <= HELD_RUNS}
        return Page(deltas=run.deltas, host=self._host.encode(), bytes_received=run.size)

    def _take(self, message: ForwardMsg, run: _Run) -> None:
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            path = tuple(message.metadata.delta_path)
            held = self._held[message.ref_hash][1]
            self._held[message.ref_hash] = (self._runs, held)
            run.deltas[path] = held.delta
        elif kind == "delta":
            if message.metadata.cacheable:
                self._held[message.hash] = (self._runs, message)
            path = tuple(message.metadata.delta_path)
            run.deltas[path] = message.delta
            self._note(message.delta)
        elif kind == "new_session":
            run.deltas.clear()
        elif kind == "navigation":
            self._pages = {
                "" if p.is_default else p.url_pathname: p.page_script_hash
                for p in message.navigation.app_pages
            }
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "script_finished":
            finished = message.script_finished
            run.done = finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN

    def _note(self, delta: Delta) -> None:
        """Remember under which id a number is sent: $$ID-(hash)-(key of the field)."""
        if delta.new_element.WhichOneof("type") == "number_input":
            result = delta.new_element.number_input.id
            self._inputs[result.split("-", 2)[2]] = result


def _cookies(host: str) -> str:
    """The cookies that come with the page, as a browser sends them back."""
    asked = http.client.HTTPConnection(host, timeout=PATIENCE_S)
    try:
        asked.request("GET", "/")
        reply = asked.getresponse()
        reply.read()
    finally:
        asked.close()
    given = reply.headers.get_all("Set-Cookie") or []
    return "; ".join(cookie.split(";", 1)[0] for cookie in given)


def _content(element: Element, host: bytes) -> bytes:
    """The element without what differs each time: ids of files made at a click, clock, port."""
    kind = element.WhichOneof("type")
    if kind == "download_button":
        element.download_button.ClearField("deferred_file_id")
    if kind == "checkbox":  # whether the session set the switch, or it stands as it begins
        switch = element.checkbox
        shown = switch.value if switch.set_value else switch.default
        switch.value, switch.set_value = shown, True
        element.ClearField("has_one_shot_effect")
    if kind == "multiselect":  # as for the switch
        choice = element.multiselect
        if not choice.set_value:
            choice.raw_values[:] = [choice.options[place] for place in choice.default]
        choice.set_value = True
        choice.ClearField("default")
        element.ClearField("has_one_shot_effect")
    if kind == "plotly_chart":
        chart = element.plotly_chart
        if "-compare." in chart.id:  # an option keeps the colour that it had in its session
            chart.spec = _COLOUR.sub("colour", chart.spec)
        chart.ClearField("id")  # a hash of what the chart draws, the minute in it too
    content = element.SerializeToString(deterministic=True).replace(host, b"." * len(host))
    return _CLOCK.sub(_dots, content)


def _dots(found: re.Match[bytes]) -> bytes:
    return b"." * len(found[0])
