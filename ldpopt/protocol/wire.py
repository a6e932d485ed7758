"""Frames on sockets and pipes: every length is checked before it is read, and nothing is unpickled."""

from __future__ import annotations

import contextlib
import hashlib
import json
import queue
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, BinaryIO, cast

from ldpopt.protocol.session import RejectedError

_LENGTH = struct.Struct(">I")
MOST_CONNECTIONS = 256
"""Connections that a party serves at the same time; a further one takes the place of a silent one."""


def write_frame(file: BinaryIO, content: bytes) -> None:
    """Write a length and a content."""
    file.write(_LENGTH.pack(len(content)) + content)


def read_frame(file: BinaryIO, most: int) -> bytes | None:
    """Read a content of at most ``most`` bytes; return None at the end of the stream.

    Raises:
        RejectedError: the frame is longer, or is cut off.
    """
    header = file.read(_LENGTH.size)
    if not header:
        return None
    if len(header) < _LENGTH.size:
        raise RejectedError("malformed", "a frame that is cut off")
    (length,) = _LENGTH.unpack(header)
    if length > most:
        raise RejectedError("malformed", f"a frame of {length} bytes, more than {most}")
    content = file.read(length)
    if len(content) < length:
        raise RejectedError("malformed", "a frame that is cut off")
    return content


def strict_json(content: bytes) -> Any:
    """Read JSON without NaN, infinities and repeated keys.

    Raises:
        RejectedError: the content is anything else.
    """
    try:
        return json.loads(content, parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise RejectedError("malformed", "an announcement that is not JSON") from None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


class Line:
    """A party's line to the bulletin board: public announcements, each a word and a content."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO, most: int) -> None:
        self._reader = reader
        self._writer = writer
        self._most = most
        self._lock = threading.Lock()

    def say(self, what: str, content: Any = None) -> None:
        """Announce something."""
        with self._lock:
            write_frame(self._writer, json.dumps([what, content]).encode())
            self._writer.flush()

    def listen(self) -> tuple[str, Any] | None:
        """Return the next announcement; None when the other side has gone.

        Raises:
            RejectedError: what comes is not an announcement.
        """
        frame = read_frame(self._reader, self._most)
        if frame is None:
            return None
        heard = strict_json(frame)
        if not (isinstance(heard, list) and len(heard) == 2 and isinstance(heard[0], str)):
            raise RejectedError("malformed", "an announcement that is not a word and a content")
        return heard[0], heard[1]

    def expect(self, what: str) -> Any:
        """Return the content of the next announcement, which must be of this kind."""
        heard = self.listen()
        if heard is None:
            raise EOFError(f"the board has gone before it announced {what!r}")
        if heard[0] != what:
            raise RejectedError("malformed", f"the board announced {heard[0]!r:.40} instead of {what!r}")
        return heard[1]

    def close(self) -> None:
        """Close both directions."""
        for file in (self._writer, self._reader):
            with contextlib.suppress(OSError):
                file.close()


# ---------------------------------------------------------------- sockets


Put = Callable[[Any], None]
Keep = Callable[[], object]
Serve = Callable[[BinaryIO, Put, Keep], None]


class Server:
    """Serves many connections at the same time; what they bring is put in one queue.

    ``serve`` gets the file of a connection, a function that puts something in the queue, and one to call
    when the connection has proven who it is. A connection that breaks the rules, or is silent for too
    long, is closed and reported in the queue as a :class:`RejectedError`; the others do not notice.
    Where all places are taken, a new connection gets that of the one which has put nothing for longest
    and has proven nothing: a peer that opens many connections and says nothing, or never ends a frame,
    loses its own.
    """

    def __init__(self, serve: Serve, patience: float) -> None:
        self._serve = serve
        self._patience = patience
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._lock = threading.Lock()
        self._silent: dict[socket.socket, None] = {}  # the longest silent one first
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.events: queue.Queue[Any] = queue.Queue(maxsize=1000)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._socket.accept()
            except OSError:  # closed
                return
            if not self._places.acquire(blocking=False):
                self._hang_up()
                self._places.acquire()
            self._wait_for(stream)
            threading.Thread(target=self._handle, args=(stream,), daemon=True).start()

    def _hang_up(self) -> None:
        """Close the connection that has been silent for longest, unless all are busy."""
        with self._lock:
            for stream in self._silent:
                del self._silent[stream]
                with contextlib.suppress(OSError):  # it went by itself
                    stream.shutdown(socket.SHUT_RDWR)
                return

    def _wait_for(self, stream: socket.socket) -> None:
        with self._lock:
            self._silent[stream] = None

    def _keep(self, stream: socket.socket) -> bool:
        """Count a connection as silent no more; return whether it was."""
        with self._lock:
            return stream in self._silent and self._silent.pop(stream) is None

    def _handle(self, stream: socket.socket) -> None:
        def put(event: Any) -> None:
            silent = self._keep(stream)  # a full queue is not the fault of the connection
            self.events.put(event)
            if silent:  # it has proven nothing, and is not given up
                self._wait_for(stream)

        stream.settimeout(self._patience)
        try:
            with stream, stream.makefile("rwb", buffering=1 << 16) as file:
                self._serve(cast(BinaryIO, file), put, partial(self._keep, stream))
        except RejectedError as rejected:
            self.events.put(rejected)
        except OSError as error:
            self.events.put(
                RejectedError("malformed", f"a connection that broke: {type(error).__name__}")
            )
        finally:
            self._keep(stream)
            self._places.release()

    def close(self) -> None:
        """Take no further connection."""
        self._socket.close()


def send_frames(port: int, frames: Iterable[bytes], patience: float, answer: int) -> tuple[bytes, bytes]:
    """Send frames over a connection of their own; return their hash and the answer.

    Args:
        port: the port of the receiver, on this machine.
        frames: the contents, in order.
        patience: seconds after which a silent connection is given up.
        answer: the most bytes of the answer.

    Raises:
        RejectedError: no answer of at most ``answer`` bytes came.
    """
    digest = hashlib.sha256()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=patience) as stream:
            with stream.makefile("wb") as out:
                for frame in frames:
                    digest.update(_LENGTH.pack(len(frame)) + frame)
                    write_frame(out, frame)
            stream.shutdown(socket.SHUT_WR)
            with stream.makefile("rb") as file:
                reply = read_frame(file, answer)
    except OSError as error:
        raise RejectedError("unanswered", f"a connection that broke: {type(error).__name__}") from None
    if reply is None:
        raise RejectedError("unanswered", "a connection that was closed without an answer")
    return digest.digest(), reply
