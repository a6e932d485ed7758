"""Files that claim what is false. Each says why it is; none may be verified."""

import json
import math
from functools import cache

import pytest
from forgeries.contradicting import judged
from second_checker import opinion

from ldpopt import problem, solve

PRIOR = [0.4, 0.3, 0.2, 0.1]
PAIR = [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]
QUESTIONS = {
    "staircase": {"epsilon": 1.0, "prior": PRIOR},
    "kl": {"epsilon": 1.0, "hypotheses": PAIR, "utility": "kl"},
    "hellinger": {"epsilon": 1.0, "hypotheses": PAIR, "utility": "hellinger"},
    "renyi": {"epsilon": 1.0, "hypotheses": PAIR, "utility": "renyi", "order": 2.5},
    "bayes": {
        "epsilon": 1.0,
        "hypotheses": [*PAIR, [0.3, 0.6, 0.1]],
        "utility": "bayes",
        "weights": [0.4, 0.3, 0.3],
    },
    "guessing": {"epsilon": 1.0, "prior": PRIOR, "utility": "guessing"},
    "secret-bayes": {
        "epsilon": 1.0,
        "hypotheses": [[[0.2, 0.1], [0.3, 0.4]], [[0.3, 0.3], [0.1, 0.3]]],
        "utility": "bayes",
    },
    "thirteen": {"epsilon": 1.0, "prior": [1 / 16] * 10 + [1 / 8] * 3},
    "never": {"epsilon": 1.0, "prior": [0.5, 0.5, 0.0]},
    "secret-staircase": {"epsilon": 1.0, "prior": [[0.2, 0.1], [0.3, 0.4]]},
    "circulant-fidelity": {"inputs": 5, "epsilon": 1.0},
    "square-fidelity": {"inputs": 5, "epsilon": 1.0},
    "broad-fidelity": {"inputs": 17, "epsilon": 0.3},
    "fidelity": {"epsilon": 1.0, "prior": [0.5, 0.3, 0.2]},
    "tv": {"epsilon": 1.0, "prior": [0.5, 0.3, 0.2], "loss": "tv"},
    "robust-fidelity": {"epsilon": 1.0, "prior": [[0.2, 0.1], [0.3, 0.4]], "queries": [[1, 1, 0, 0]]},
    "queries": {"epsilon": 1.0, "prior": [[0.5], [0.3], [0.2]]},
    "minimax-fidelity": {"inputs": 4, "epsilon": 1.0, "p0": 0.05},
    "worst-tv": {"inputs": 4, "epsilon": 1.0, "p0": 0.05, "loss": "tv"},
}
KINDS = {
    "kl": "staircase",
    "hellinger": "staircase",
    "renyi": "staircase",
    "bayes": "staircase",
    "guessing": "staircase",
    "secret-bayes": "secret-staircase",
    "thirteen": "staircase",
    "never": "staircase",
    "tv": "fidelity",
    "queries": "robust-fidelity",
    "worst-tv": "minimax-fidelity",
}
FORGERIES = []


@cache
def _solved(name):
    return json.dumps(solve(problem(KINDS.get(name, name), **QUESTIONS[name])).to_json())


def genuine(name):
    return json.loads(_solved(name))


def forgery(why, *names):
    """Keep a forgery: a function that changes a genuine file of each of these questions in place."""

    def keep(change):
        FORGERIES.extend(
            pytest.param(name, change, why, id=f"{name}-{change.__name__.strip('_')}") for name in names
        )
        return change

    return keep


def restate(document, *, value=None, bound=None):
    """Claim another value or bound, with the gap and the status that fit."""
    document["value"] = document["value"] if value is None else value
    document["bound"] = document["bound"] if bound is None else bound
    value, bound = document["value"], document["bound"]
    document["gap"] = abs(bound - value) / max(abs(value), abs(bound), 1e-4)
    document["status"] = "optimal" if document["gap"] <= 1e-9 else "gap"


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_genuine_files_are_verified(name):
    assert judged(genuine(name)) == "verified"


FEW = ("hellinger", "renyi", "bayes", "guessing", "secret-bayes")
MAXIMA = ("staircase", "kl", "thirteen", "never", "secret-staircase", *FEW)
MINIMA = tuple(name for name in QUESTIONS if name not in MAXIMA)
MATRICES = tuple(name for name in QUESTIONS if name != "broad-fidelity")


@forgery("the bound, which is proven, says that nothing is worth so much", *MAXIMA)
def _value_above_the_bound(document):
    restate(document, value=document["bound"] * (1 + 1e-9), bound=document["bound"] * (1 + 1e-9))


@forgery("the value, which is proven, is below it", *MINIMA)
def _bound_above_the_value(document):
    restate(document, value=document["value"] * (1 + 1e-9), bound=document["value"] * (1 + 1e-9))


@forgery("the mechanism is worth more", *MAXIMA)
def _bound_below_the_value(document):
    restate(document, value=document["value"] * (1 - 1e-9), bound=document["value"] * (1 - 1e-9))


@forgery("the bound, which is proven, says that none is below", *MINIMA)
def _value_below_the_bound(document):
    restate(document, value=document["bound"] * (1 - 1e-9), bound=document["bound"] * (1 - 1e-9))


@forgery(
    "+L and −L cancel in the sum of β only: at the corner where one is high β·v is far below g(v)",
    *MAXIMA,
)
def _opposite_duals(document):
    dual = document["certificate"]["proof"]["dual"]
    dual[0], dual[1] = dual[0] + 1e17, dual[1] - 1e17
    restate(document, value=0.0, bound=0.0)


@forgery("−L absorbs every other number of a float sum: β·v < 0 ≤ g(v)", *MAXIMA)
def _absorbing_dual(document):
    dual = document["certificate"]["proof"]["dual"]
    dual[:] = [-1e17, *[1e17 / (len(dual) - 1)] * (len(dual) - 1)]
    restate(document, value=0.0, bound=1.0)


@forgery(
    "an input that never occurs has a row too: the column that is high there beats a negative β",
    "never",
)
def _dual_of_an_input_that_never_occurs(document):
    document["certificate"]["proof"]["dual"][2] -= 1e-3
    restate(document, value=document["value"] - 1e-3, bound=document["bound"] - 1e-3)


@forgery("the power of order 3 is more than that of order 2.5", "renyi")
def _bound_of_a_smaller_order(document):
    document["params"]["order"] = 3.0


@forgery("the hypothesis that is decided for most often is the likelier one now", "bayes")
def _other_weights(document):
    document["params"]["weights"] = [0.9, 0.05, 0.05]


@forgery("one of two is guessed right more often than one of three", "bayes")
def _a_hypothesis_forgotten(document):
    del document["params"]["hypotheses"][2], document["params"]["weights"]


@forgery("the input that the dual forgets can be guessed", "guessing")
def _one_input_unguessed(document):
    dual = document["certificate"]["proof"]["dual"]
    dual[0] -= 1e-6
    restate(document, value=document["value"] - 1e-6, bound=document["bound"] - 1e-6)


@forgery("β is right for one input fewer than there are", "thirteen")
def _one_dual_too_small(document):
    document["certificate"]["proof"]["dual"][12] -= 1e-7
    restate(document, value=document["value"] - 1e-7, bound=document["bound"] - 1e-7)


@forgery(
    "β holds at the corners {1, E}, not at {1, E²} for the inputs that share a secret",
    "secret-staircase",
)
def _bound_of_the_stricter_question(document):
    flat = [p for row in document["params"]["prior"] for p in row]
    strict = json.loads(json.dumps(solve(problem("staircase", epsilon=1.0, prior=flat)).to_json()))
    for key in ("value", "bound", "gap", "mechanism", "certificate"):
        document[key] = strict[key]


@forgery("a row sums to 1 + 2^−40", *MATRICES)
def _mass_from_nowhere(document):
    document["mechanism"]["matrix"][0][0] += 2.0**-40


@forgery("two inputs differ by more than e^ε", *(name for name in MATRICES if name != "robust-fidelity"))
def _too_little_privacy(document):
    document["params"]["epsilon"] *= 1 - 1e-12


@forgery("a constant mechanism tells nothing; the prior sums to 1 + 9e-10", "staircase")
def _informative_by_rounding(document):
    document["params"]["prior"] = [p * (1 + 9e-10) for p in PRIOR]
    document["mechanism"] = {"matrix": [[1.0]] * 4}
    document.update(status="feasible", bound=None, gap=None, value=1e-12)
    document["certificate"].update(proof=None, audit={})


@forgery("value and bound differ by half", "staircase", "circulant-fidelity")
def _optimal_to_a_half(document):
    if document["problem"] == "staircase":
        document["value"] /= 2
    else:
        document["value"] *= 2
    document["gap"] = 0.5
    document["certificate"]["gap"] = 0.6


@forgery("it is feasible, and its bound is false and not looked at", "staircase", "fidelity")
def _bound_of_a_feasible_file(document):
    document.update(status="feasible", bound=document["value"])


@forgery("it says two things at once", *QUESTIONS)
def _two_answers(document):
    if document["mechanism"] is None:
        document["mechanism"] = {"matrix": [[1.0]] * 17}
    else:
        document["answer"] = {"mechanism": "subset-selection", "inputs": 5, "size": 1, "ratio": 1.5}


@forgery("the level is another", *QUESTIONS)
def _level_of_nothing(document):
    document["certificate"]["audit"] = {"level": 0.0}


@forgery("the level is another by 1e-11", *QUESTIONS)
def _level_not_quite(document):
    document["certificate"]["audit"] = {"level": document["params"]["epsilon"] - 1e-11}


@forgery("nobody reads that parameter", *QUESTIONS)
def _parameter_with_a_space(document):
    document["params"]["epsilon "] = 1e-6


@forgery("true is not a number", *QUESTIONS)
def _truth_as_a_number(document):
    document["params"]["epsilon"] = True


@forgery("it has no such status", *QUESTIONS)
def _status_with_a_space(document):
    document["status"] = "optimal "


@forgery("two outputs have one name", "staircase")
def _labels_twice(document):
    document["mechanism"]["outputs"] = ["a"] * len(document["mechanism"]["matrix"][0])


# ---------------------------------------------------------------- learning a distribution


@forgery("row 1 is not row 0 turned", "circulant-fidelity")
def _not_circulant(document):
    rows = document["mechanism"]["matrix"]
    rows[1], rows[2] = rows[2], rows[1]


@forgery(
    "a sixth output, if only an empty one: it is not square", "circulant-fidelity", "square-fidelity"
)
def _not_square(document):
    for row in document["mechanism"]["matrix"]:
        row.append(0.0)


@forgery(
    "two inputs have the same row: nothing can be learnt, whatever the value",
    "square-fidelity",
    "fidelity",
)
def _singular(document):
    rows = document["mechanism"]["matrix"]
    rows[1] = list(rows[0])
    document.update(status="feasible", bound=None, gap=None, value=1e300)
    document["certificate"]["proof"] = None


@forgery("the ratio is the float above e^ε", "broad-fidelity")
def _ratio_too_large(document):
    ratio = math.exp(document["params"]["epsilon"])
    document["answer"]["ratio"] = math.nextafter(math.nextafter(ratio, 2), 2)


@forgery("every subset of size 0, or of all, is one output: nothing is learnt", "broad-fidelity")
def _all_or_nothing(document):
    document["answer"]["size"] = 17


@forgery("β is half of what dominates", "fidelity", "tv", "queries")
def _half_a_proof(document):
    proof = _design_proof(document)
    proof["beta"] = [b / 2 for b in proof["beta"]]
    restate(document, value=document["value"] * 2, bound=document["bound"] * 2)


@forgery("Y times 2 needs β times 4", "fidelity", "tv", "queries")
def _scaled_proof(document):
    proof = _design_proof(document)
    proof["Y"] = [[2 * y for y in row] for row in proof["Y"]]
    restate(document, value=document["value"] * 4, bound=document["bound"] * 4)


@forgery("huge numbers of Y cancel in no float here", "fidelity", "tv", "queries")
def _huge_proof(document):
    proof = _design_proof(document)
    proof["Y"][0][0] = 1e308
    restate(document, value=1e300, bound=1e300)


@forgery("+L and −L in β: negative at a corner", "fidelity", "tv", "queries")
def _opposite_betas(document):
    proof = _design_proof(document)
    proof["beta"][0] += 1e17
    proof["beta"][1] -= 1e17
    restate(document, bound=document["bound"] * 1.01, value=document["value"] * 1.01)


def _design_proof(document):
    """The proof of the file; where the parameters suffice, a proof that holds for some bound."""
    if document["certificate"]["proof"] is None:
        k = len(document["params"]["prior"])
        unit = [[float(i == j) for j in range(k)] for i in range(k)]
        document["certificate"]["proof"] = {"Y": unit, "beta": [4.0] * k}
    return document["certificate"]["proof"]


@forgery("its proof holds for the one input of each secret, not for {1, E²}", "robust-fidelity")
def _proof_for_all_inputs_secret(document):
    """The bound of the question where every input is a secret, with its own proof, for fewer secrets."""
    strict = solve(
        problem(
            "robust-fidelity", epsilon=1.0, prior=[[0.2], [0.1], [0.3], [0.4]], queries=[[1, 1, 0, 0]]
        )
    ).to_json()
    document["mechanism"] = strict["mechanism"] | {"inputs": None}
    for key in ("value", "bound", "gap", "certificate", "status"):
        document[key] = strict[key]
    document["value"] = document["bound"] = document["bound"] * 1.5


@forgery("the query is twice as large", "robust-fidelity", "queries")
def _larger_query(document):
    document["params"]["queries"] = [[2 * c for c in row] for row in document["params"]["queries"]]


@forgery("the distribution of the proof is not at least p0", "worst-tv")
def _proof_at_another_distribution(document):
    document["certificate"]["proof"] = {"rest": 0.01, "rows": [1.0, 1.0, 1.0]}


@forgery(
    "it is optimal for p0 = 0.05; with smaller p0 the supremum is over more distributions",
    "minimax-fidelity",
    "worst-tv",
)
def _more_distributions(document):
    document["params"]["p0"] = 0.01


@forgery(
    "the question is about a distribution with an entry below the least that is decided",
    "fidelity",
    "tv",
)
def _tiny_probability(document):
    document["params"]["prior"] = [0.5, 0.5 - 1e-16, 1e-16]


@forgery("who looks up a row by its number takes that of another input", "staircase", "secret-staircase")
def _inputs_exchanged(document):
    names = document["mechanism"]["inputs"]
    names[1], names[2] = names[2], names[1]


@pytest.mark.parametrize(("name", "change", "why"), FORGERIES)
def test_it_is_not_verified(name, change, why):
    document = genuine(name)
    before = json.dumps(document)
    change(document)
    assert json.dumps(document) != before, "the forgery changes nothing"
    assert judged(document) in ("refuted", "unreadable"), why
    assert opinion(json.dumps(document)) in ("refuted", "unreadable", None), why
