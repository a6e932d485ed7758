"""Seals: nobody opens what is not theirs, and every change is noticed."""

import pytest

from ldpopt.protocol.sealing import Opener, SealError, seal


def test_only_the_owner_opens():
    curator, analyst = Opener(), Opener()
    sealed = seal(curator.public, b"secret", b"round 1")
    assert curator.open(sealed, b"round 1") == b"secret"
    for opener, context in ((analyst, b"round 1"), (curator, b"round 2")):
        with pytest.raises(SealError):
            opener.open(sealed, context)


def test_any_changed_byte_is_noticed():
    curator = Opener()
    sealed = seal(curator.public, b"secret", b"c")
    for i in range(len(sealed)):
        changed = bytearray(sealed)
        changed[i] ^= 1
        with pytest.raises(SealError):
            curator.open(bytes(changed), b"c")


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 47, 48, 60, 1000])
@pytest.mark.parametrize("byte", [b"\0", b"\x01", b"\xff"])
def test_junk_of_any_length_does_not_open(size, byte):
    with pytest.raises(SealError):
        Opener().open(byte * size, b"c")


def test_equal_contents_look_different():
    curator = Opener()
    assert seal(curator.public, b"x", b"c") != seal(curator.public, b"x", b"c")
