"""Experiments that keep their certificates, and directories that are verified."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ldpopt as package
from ldpopt import solve
from ldpopt.core.errors import InvalidInputError
from ldpopt.engine.sweep import Experiment
from ldpopt.problems import Staircase


def points(quick):
    return [{"epsilon": level} for level in (0.5, 1.0)]


def measure(epsilon):
    return {"value": solve(Staircase(epsilon, prior=[0.6, 0.4])).value}


SWEEP = Experiment("sweep", points, measure, lambda rows, out: [], lambda rows: "done")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    out = tmp_path_factory.mktemp("artifact")
    return SWEEP.run(out=out, keep_results=True), out


@pytest.fixture
def artifact(kept, tmp_path):
    """A copy of the directory, to be changed."""
    for path in kept[1].rglob("*"):
        copy = tmp_path / path.relative_to(kept[1])
        copy.mkdir() if path.is_dir() else copy.write_bytes(path.read_bytes())
    return tmp_path


def test_rows_keep_their_certificates(kept, ldpopt):
    study, out = kept
    names = [name for row in study.rows for name in row["results"]]
    assert len(names) == 2
    values = [json.loads((out / name).read_text())["value"] for name in names]
    assert values == [row["value"] for row in study.rows]
    assert SWEEP.run(out=out, keep_results=True).reused == 2
    code, said, _ = ldpopt("verify", out)
    assert code == 0
    assert said.count(": verified") == 2
    assert "sweep.csv: as the manifest says" in said
    assert said.endswith(
        "verified: 2 result files; the other files are compared with the manifest alone\n"
    )
    told = json.loads(ldpopt("verify", out, "--json").out)
    assert (told["verified"], len(told["files"])) == (True, 3)


def test_the_bare_checker_reads_the_kept_results(kept):
    checker = Path(package.__file__).parent / "checker"
    name = kept[1] / kept[0].rows[0]["results"][0]
    command = [sys.executable, "-I", "-S", str(checker), str(name)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_an_artifact_that_was_changed_is_refuted(artifact, ldpopt):
    first, second = sorted((artifact / "results").iterdir())
    forged = json.loads(first.read_text())
    forged["value"] += 0.01
    first.write_text(json.dumps(forged))
    second.unlink()
    (artifact / "results" / "added.json").write_text("{}")
    code, said, _ = ldpopt("verify", artifact)
    assert code == 1
    assert "its SHA-256 differs" in said
    assert "missing, though the manifest names it" in said
    assert "added.json: a result file that the manifest does not name" in said


def test_a_forged_result_with_its_manifest_is_refuted_by_the_checker(artifact, ldpopt):
    from ldpopt.engine.artifact import write_manifest

    first, second = sorted((artifact / "results").iterdir())
    forged = json.loads(first.read_text())
    forged["value"] += 0.01
    first.write_text(json.dumps(forged))
    write_manifest(artifact, [first, second])
    code, said, _ = ldpopt("verify", artifact)
    assert code == 1
    assert "REFUTED" in said


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (None, "has no manifest.json"),
        ({"files": {"a": "b"}}, "must look like"),
        ({"format": "ldpopt-manifest", "files": {}}, "must look like"),
        ({"format": "ldpopt-manifest", "files": {"a.csv": "b"}}, "names no result file"),
        ({"format": "ldpopt-manifest", "files": {"results/../../x.json": "b"}}, "no file of the"),
        ({"format": "ldpopt-manifest", "files": {"results/x.json": 3}}, "no file of the directory"),
    ],
)
def test_directories_that_are_no_artifacts(tmp_path, ldpopt, manifest, told):
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    answer = ldpopt("verify", tmp_path)
    assert answer.code == 2
    assert told in answer.err


def test_results_are_kept_in_a_directory():
    with pytest.raises(InvalidInputError, match="give out"):
        SWEEP.run(keep_results=True)
