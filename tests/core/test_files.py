"""Locks of files that several processes write."""

from pathlib import Path

import pytest

from ldpopt.core import files


@pytest.mark.parametrize("look", [1, 2])
def test_a_lock_that_another_process_removes_is_asked_for_again(tmp_path, monkeypatch, look):
    """After waiting for the lock, when it is looked at, its last owner has just removed it."""
    lock, stat, looks = tmp_path / ".ledger.json.lock", Path.stat, []

    def late(path, **options):
        if path == lock:
            looks.append(path)
            if len(looks) == look:
                lock.unlink()
        return stat(path, **options)

    worked = False
    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", late)
        with files.locked(tmp_path / "ledger.json"):
            worked = True
    assert worked
    assert not lock.exists()
