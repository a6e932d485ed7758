"""Locks of files that several processes write."""

from pathlib import Path

from ldpopt.core import files


def test_a_lock_that_another_process_removes_is_asked_for_again(tmp_path, monkeypatch):
    """Between waiting for the lock and looking at it, its last owner removes it."""
    lock, stat, removed = tmp_path / ".ledger.json.lock", Path.stat, []

    def late(path, **options):
        if path == lock and not removed:
            removed.append(path)
            lock.unlink()
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", late)
    with files.locked(tmp_path / "ledger.json"):
        assert lock.exists()
    assert removed
    assert not lock.exists()
