"""Whatever reads somebody else's file does it within a budget of time and memory."""

import json
import threading

import pytest
from alarms import time_is_over

import ldpopt
from ldpopt.audit import audited, auditing
from ldpopt.audit.auditing import audit
from ldpopt.checker import frame
from ldpopt.checker.kernel import budget
from ldpopt.core import limits
from ldpopt.core.errors import UndecidedFileError
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.engine.verifying import verify, verify_document, within
from ldpopt.release.designing import design, load_mechanism
from ldpopt.release.planning import plan
from ldpopt.release.safe_columns import exposed
from ldpopt.report import page
from ldpopt.report.loading import read, read_public
from ldpopt.tables.batches import TableReader, open_table
from ldpopt.tables.domain import Domain

SMALL = {"s": ["a", "b"] * 20, "u": ["x", "y", "y", "x"] * 10}


def endless(*_, **__):
    while True:
        pass


@pytest.fixture
def soon(monkeypatch):
    """Let work end as soon as its time is over."""
    for module, name in ((budget, "LATE"), (budget, "LOOK"), (limits, "GRACE"), (limits, "LATE")):
        monkeypatch.setattr(module, name, 0.01)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("budgets")
    made = design(SMALL, "s", "u", epsilon=1.0, method="srr", robust="all")
    made.save(folder / "private.json")
    made.public.save(folder / "public.json")
    return folder


@pytest.mark.parametrize("name", ["private.json", "public.json"])
@pytest.mark.parametrize("part", ["check", "unchecked"])
def test_verify_ends_whatever_the_checker_does(part, name, folder, soon, monkeypatch):
    """Also where a document is given, and in a thread that no signal reaches."""
    monkeypatch.setattr(frame, part, endless)
    document, raised = json.loads((folder / name).read_text()), []
    for check in (
        lambda: verify(folder / name, budget=0.01),
        lambda: verify_document(document, budget=0.01),
    ):

        def caught(check=check):
            with pytest.raises(UndecidedFileError, match="not decided within"):
                check()
            raised.append(check)

        caught()
        thread = threading.Thread(target=caught)
        thread.start()
        thread.join()
    assert len(raised) == 4


READERS = {
    "load": (ldpopt.load, "private.json"),
    "load_mechanism": (load_mechanism, "private.json"),
    "load_mechanism, public": (load_mechanism, "public.json"),
    "audit": (audited.loaded, "private.json"),
    "audit, public": (audited.loaded, "public.json"),
    "report": (read, "private.json"),
    "report, public": (read_public, "public.json"),
}


@pytest.mark.parametrize("reader", READERS)
def test_files_are_turned_into_objects_within_a_budget(reader, folder, monkeypatch):
    """Every mechanism and domain of a file is made while a budget runs."""
    made = []

    def noted(function):
        def called(*arguments):
            made.append(budget._CURRENT.get())
            return function(*arguments)

        return called

    monkeypatch.setattr(Mechanism, "from_json", noted(Mechanism.from_json))
    monkeypatch.setattr(Domain, "from_json", noted(Domain.from_json))
    function, name = READERS[reader]
    function(folder / name)
    assert made
    assert None not in made


def test_memory_that_is_used_up_is_undecided():
    def refused():
        raise MemoryError

    with pytest.raises(UndecidedFileError, match="the memory is used up"), within():
        refused()


# ------------------------------------------------------------ time limits


class Endless(TableReader):
    """A table whose rows never end."""

    def __init__(self):
        self.name, self.columns = "the endless table", list(SMALL)
        self.table = open_table(SMALL)

    def _read(self, columns):
        while True:
            yield from self.table.batches(columns)


TABLES = {
    "design": lambda table: design(table, "s", "u", epsilon=1.0, time_limit=0.01),
    "design, bins": lambda table: design(table, "s", "u", epsilon=1.0, top={"s": 1}, time_limit=0.01),
    "plan": lambda table: plan(table, "s", "u", target=0.1, time_limit=0.01),
    "exposed": lambda table: exposed(table, threshold=0.1, time_limit=0.01),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_never_ends_is_left_at_the_time_limit(name, soon):
    with pytest.raises(UndecidedFileError, match="not done within the time limit; allow more"):
        TABLES[name](Endless())


def test_an_audit_and_a_page_end_at_their_time_limit(folder, tmp_path, soon, monkeypatch, ldpopt):
    monkeypatch.setattr(auditing, "loaded", endless)
    monkeypatch.setattr(page, "parts", endless)
    with pytest.raises(UndecidedFileError, match="time limit"):
        audit(folder / "private.json", time_limit=0.01)
    with pytest.raises(UndecidedFileError, match="time limit"):
        page.report(folder / "private.json", tmp_path / "page.html", time_limit=0.01)
    assert not (tmp_path / "page.html").exists()
    done = ldpopt("audit", folder / "private.json", "--time-limit", 0.01)
    assert (done.code, "not done within the time limit" in done.err) == (3, True)
    done = ldpopt("report", folder / "private.json", "-o", tmp_path / "page.html", "--time-limit", 0.01)
    assert (done.code, "not done within the time limit" in done.err) == (3, True)


@pytest.mark.parametrize(("passed", "worked"), [(0.3, 0.1), (1.5, 0.0)])
def test_a_process_that_gets_no_core_has_longer(passed, worked, clock, soon, monkeypatch):
    """A busy machine does not end honest work; what does not work at all is ended, too."""
    times = [0.0]
    monkeypatch.setattr(limits.time, "process_time", lambda: times[-1])

    def work():
        clock.move(0.3)
        time_is_over()  # beyond the limit, below ten times of it, and no work was done yet
        clock.move(passed - 0.3)
        times.append(worked)
        time_is_over()
        pytest.fail("it was not ended")

    with pytest.raises(UndecidedFileError), Limits.within(0.1).held():
        work()


def test_work_without_a_time_limit_is_not_held():
    with Limits.within(None).held():
        assert budget._CURRENT.get() is None
