"""Frames, announcements and servers: what a hostile connection can do to others (nothing)."""

import contextlib
import io
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt.protocol.session import RejectedError
from ldpopt.protocol.wire import Line, Server, read_frame, send_frames, strict_json, write_frame


@given(st.binary(max_size=200))
def test_any_stream_is_read_to_its_end_or_refused(stream):
    file = io.BytesIO(stream)
    with contextlib.suppress(RejectedError):
        while (frame := read_frame(file, 50)) is not None:
            assert len(frame) <= 50
        assert file.tell() == len(stream)


def test_a_long_frame_is_refused_before_it_is_read():
    file = io.BytesIO(struct.pack(">I", 2**32 - 1) + b"x" * 1000)
    with pytest.raises(RejectedError, match="4294967295 bytes, more than 50"):
        read_frame(file, 50)
    assert file.tell() == 4


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"NaN",
        b"[Infinity]",
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        b"1" * 10_000,
        b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00K\x05.",  # a pickle
    ],
)
def test_what_is_no_json(content):
    with pytest.raises(RejectedError, match="not JSON"):
        strict_json(content)


@pytest.mark.parametrize("content", [b"5", b"[]", b'["a"]', b"[1, 2]", b'["a", 1, 2]', b'{"a": 1}'])
def test_what_is_no_announcement(content):
    file = io.BytesIO()
    write_frame(file, content)
    file.seek(0)
    with pytest.raises(RejectedError, match="a word and a content"):
        Line(file, io.BytesIO(), 100).listen()


def echo(file, put, keep):
    while (frame := read_frame(file, 10)) is not None:
        put(frame)
    write_frame(file, b"done")
    file.flush()


def test_stalled_and_broken_connections_do_not_hold_up_the_others():
    server = Server(echo, patience=60)
    stalled = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    stalled[0].sendall(b"\0\0")  # half a header, then nothing
    stalled[1].sendall(b"\0\0\0\x0ahalf")  # half a frame, then nothing
    with socket.create_connection(("127.0.0.1", server.port)) as cut_off:
        cut_off.sendall(b"\0\0\0\x0ahalf")
    assert isinstance(server.events.get(), RejectedError)
    with socket.create_connection(("127.0.0.1", server.port)) as oversize:
        oversize.sendall(b"\0\0\0\x0b")
        assert isinstance(server.events.get(), RejectedError)
    assert send_frames(server.port, [b"one", b"two"], 60, 10)[1] == b"done"
    assert [server.events.get(), server.events.get()] == [b"one", b"two"]
    server.close()
    for stream in stalled:
        stream.close()


def test_many_silent_connections_lose_their_own_places(monkeypatch):
    """A frame that never ends is silence, too; who has proven who it is keeps its place."""
    monkeypatch.setattr("ldpopt.protocol.wire.MOST_CONNECTIONS", 8)

    def known(file, put, keep):
        if file.read(1) == b"!":
            keep()
            put("known")
        echo(file, put, keep)

    server = Server(known, patience=60)
    friend = socket.create_connection(("127.0.0.1", server.port))
    friend.sendall(b"!")
    assert server.events.get(timeout=60) == "known"
    held = []
    for _ in range(3):
        held += [socket.create_connection(("127.0.0.1", server.port)) for _ in range(10)]
        for stream in held[-10:]:
            stream.sendall(b"?\0\0\0\x0ahalf")
        with socket.create_connection(("127.0.0.1", server.port)) as honest:
            honest.sendall(b"?\0\0\0\x03one")
            while (event := server.events.get(timeout=60)) != b"one":
                assert isinstance(event, RejectedError)
    friend.sendall(b"\0\0\0\x03two")
    while (event := server.events.get(timeout=60)) != b"two":
        assert isinstance(event, RejectedError)
    server.close()
    for stream in (friend, *held):
        stream.close()


def test_a_silent_connection_is_given_up():
    server = Server(echo, patience=0.05)
    with socket.create_connection(("127.0.0.1", server.port)):
        assert "TimeoutError" in str(server.events.get())
    server.close()


def test_no_answer_is_noticed():
    def rude(file, put, keep):
        file.read(4)

    server = Server(rude, patience=60)
    with pytest.raises(RejectedError) as caught:
        send_frames(server.port, [b"one"], 60, 10)
    assert caught.value.kind == "unanswered"
    server.close()
