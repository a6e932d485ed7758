"""Run exported samplers where they are meant to run: in Node and in plain Python."""

import json
import shutil
import subprocess
import sys

import pytest

IN_NODE = """
const [file, ...programs] = process.argv.slice(1);
const rows = JSON.parse(require("fs").readFileSync(file, "utf-8"));
function tested(sampler) {
  try {
    return sampler.selfTest();
  } catch (error) {
    return error.message;
  }
}
console.log(JSON.stringify(programs.map(require).map((sampler) => [
  sampler.column, tested(sampler), rows.map((row) => sampler.report(row)),
])));
"""
IN_PYTHON = """
import json, runpy, sys
def tested(sampler):
    try:
        return sampler["self_test"]()
    except ValueError as error:
        return str(error)
with open(sys.argv[1]) as file:
    rows = json.load(file)
print(json.dumps([
    [sampler["COLUMN"], tested(sampler), [sampler["report"](row) for row in rows]]
    for sampler in map(runpy.run_path, sys.argv[2:])
]))
"""


def node(*words):
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed here")
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)


def plain_python(*words):
    """An interpreter without any package but the standard library."""
    command = [sys.executable, "-I", "-S", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def node_reports(rows, *programs):
    """The column, the answer of the self-test, and the reports of a file's rows, of each program."""
    return json.loads(node("-e", IN_NODE, rows, *programs).stdout)


def python_reports(rows, *programs):
    return json.loads(plain_python("-c", IN_PYTHON, rows, *programs).stdout)


def in_python(program):
    """The names that a program in Python defines."""
    names = {"__name__": "sampler"}
    exec(program, names)
    return names


# ---------------------------------------------------------------- stated numbers in place of random ones

FED = """
let numbers, taken;

function getRandomValues(words) {
  if (taken === numbers.length) {
    throw new Error("more");
  }
  words[0] = Math.floor(numbers[taken] / 2 ** 32) * 4096 + 7;  // the lowest twelve bits are not used
  words[1] = numbers[taken] % 2 ** 32;
  taken += 1;
  return words;
}

function fed(sampler, row, stream) {
  [numbers, taken] = [stream, 0];
  try {
    const report = sampler.report(row);
    return taken === stream.length ? report : "numbers are left";
  } catch (error) {
    if (error.message === "more") {
      return null;
    }
    throw error;
  }
}
"""
"""The report of a row that is drawn from given numbers of 52 bits; null if they are too few."""

FED_IN_NODE = f"""
{FED}
Object.defineProperty(globalThis, "crypto", {{ value: {{ getRandomValues }} }});
const [program, file] = process.argv.slice(1);
const sampler = require(program);
const cases = JSON.parse(require("fs").readFileSync(file, "utf-8"));
console.log(JSON.stringify(cases.map(([row, stream]) => fed(sampler, row, stream))));
"""
FED_IN_A_BROWSER = f"""
{FED}
crypto.getRandomValues = getRandomValues;
return JSON.parse(arguments[0]).map(([row, stream]) => fed(ldpoptSampler, row, stream));
"""


def node_fed(program, cases, file):
    """The reports of rows, each drawn from a given stream of numbers; None where it is too short."""
    file.write_text(json.dumps(cases))
    said = node("-e", FED_IN_NODE, program, file)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def python_fed(program, cases):
    names = in_python(program)

    def fed(row, stream):
        numbers = iter(stream)
        names["_random_bits"] = numbers.__next__
        try:
            report = names["report"](row)
        except StopIteration:
            return None
        return "numbers are left" if list(numbers) else report

    return [fed(row, stream) for row, stream in cases]
