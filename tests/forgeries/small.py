"""Small questions, whose files are verified within milliseconds: what the fuzzer mutates."""

SQUARE, SKEW = [[0.3, 0.2], [0.1, 0.4]], [[0.25, 0.25], [0.35, 0.15]]
ROWS = [[0.5, 0.5], [0.625, 0.375], [0.25, 0.75], [0.375, 0.625]]
THREE, LINE = [0.5, 0.3, 0.2], [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
TWO = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]


def composed(objective, *privacy, **side):
    """The parameters of a program."""
    sense = "minimise" if {"loss", "queries"} & {*objective} else "maximise"
    return {"privacy": list(privacy), sense: objective, **side}


SMALL = {
    "program": [
        composed(
            {"mutual-information": {"prior": THREE}},
            {"ldp": {"epsilon": 2}},
            {"maximal-leakage": {"leakage": 0.4}},
        ),
        composed({"guessing": {"prior": THREE}}, {"ldp": {"epsilon": 1, "delta": 0.05}}),
        composed({"mutual-information": {"prior": THREE}}, {"sensitive": {"epsilon": 1, "inputs": [0]}}),
        composed({"bayes": {"hypotheses": TWO}}, {"sensitive": {"epsilon": 1, "inputs": [0, 1]}}),
        composed(
            {"loss": {"prior": THREE, "loss": LINE}},
            {"metric": {"epsilon": 0.5, "distances": LINE}},
            at_most=[{"costs": LINE, "most": 2.9}],
            at_least=[{"costs": LINE, "least": 1.0}],
        ),
        composed({"kl": {"hypotheses": TWO}}, {"pml": {"epsilon": 0.5, "prior": THREE}}),
        composed(
            {"chi-squared": {"hypotheses": TWO}},
            {"pairs": {"levels": [[0, 1, None], [0.5, 0, 2], [1, 1, 0]]}},
        ),
        composed(
            {"fisher": {"prior": [0.4, 0.4, 0.2], "score": [1, -1, 0]}},
            {"information-privacy": {"epsilon": 0.5, "prior": THREE}},
        ),
        composed(
            {"total-variation": {"hypotheses": TWO}},
            {"statistic-leakage": {"leakage": 0.5, "secrets": [0, 0, 1]}},
            {"cone": {"rows": [[2, -1, 0], [0, 2, -1], [-1, 0, 3]]}},
        ),
        composed(
            {"largest": {"pieces": [[1, 0, -1, 2], [0, 2, 0.5, 0]]}},
            {"given": {"epsilon": 1, "shape": [2, 2]}},
            {"scenarios": {"epsilon": 0.5, "distributions": [[[0.4, 0.1], [0.1, 0.4]]]}},
        ),
        composed(
            {"hellinger": {"hypotheses": TWO}}, {"secret": {"epsilon": 1, "secrets": ["a", "a", "b"]}}
        ),
        composed({"renyi": {"hypotheses": TWO, "order": 3}}, {"ldp": {"epsilon": 1, "delta": 0.1}}),
        composed({"log-det": {"prior": THREE}}, {"ldp": {"epsilon": 1}}),
        composed({"kl": {"hypotheses": TWO}}, {"pml": {"epsilon": 0.3, "prior": THREE}}, max_outputs=2),
        composed({"guessing": {"prior": THREE}}, {"renyi": {"epsilon": 0.5, "order": 2.5}}),
        composed(
            {"bayes": {"hypotheses": [[0.6, 0.2, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]]}},
            {"robust": {"epsilon": 1, "uncertainty": {"kind": "known", "p": SQUARE}}},
        ),
        composed(
            {"queries": {"queries": [[1, 0, 0], [1, 1, 0]], "prior": THREE}},
            {"pml": {"epsilon": 0.5, "prior": THREE}},
            {"maximal-leakage": {"leakage": 0.3}},
        ),
    ],
    "statistic-leakage": [
        {"matrix": [[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], "secrets": ["a", "a", "b"]},
        {"matrix": [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]], "secrets": [0, 1, 1]},
    ],
    "leakage-design": [
        {"tau": 2, "d": 2, "leakage": 0.3},
        {"tau": 2, "d": 2, "leakage": 0.2, "secrets": [0, 1, 0]},
        {"costs": [[0, 3], [1, 0], [2, 1]], "scale": 2, "leakage": 0.2, "secrets": [0, 1, 1]},
        {"tau": 2, "d": 2, "leakage": 0.5, "epsilon": 0.4},
    ],
    "asymptotic-utility": [
        {"epsilon": 1.0, "dirichlet": [1.0, 1.0]},
        {"epsilon": 1.0, "dirichlet": [1.0, 2.0]},
        {"epsilon": 0.5, "dirichlet": [0.5, 0.5], "min_average_privacy": 0.99},
    ],
    "privacy-utility-frontier": [
        {"epsilon": 2.0, "dirichlet": [1.0, 1.0], "min_average_privacy": 0.9},
        {"epsilon": 2.0, "dirichlet": [1.0, 2.0], "min_average_privacy": 0.9},
    ],
    "polyopt": [
        {"epsilon": 1.0, "p_hat": SQUARE, "n": 1000},
        {"epsilon": 0.5, "p_hat": SKEW, "n": 100, "pairs": "all"},
        {"epsilon": 1.0, "p_hat": SQUARE, "n": 100, "objective": "robust"},
        {"epsilon": 1.0, "counts": [[30, 10, 10], [5, 25, 20]], "width": 2},
    ],
    "robust-optimum": [
        {"epsilon": 1.0, "p_hat": SQUARE, "n": 1000},
        {"epsilon": 0.5, "p_hat": SKEW, "n": 100},
    ],
    "robust-level": [
        {"matrix": ROWS, "uncertainty": {"kind": "known", "p": SQUARE}},
        {"matrix": ROWS, "uncertainty": {"kind": "total-variation", "p_hat": SQUARE, "radius": 0.05}},
        {"matrix": ROWS, "uncertainty": {"kind": "scenarios", "members": [SQUARE, SKEW]}},
        {"matrix": ROWS, "uncertainty": {"kind": "likelihood", "p_hat": SKEW, "radius": 0.01}},
        {"matrix": ROWS, "uncertainty": {"kind": "wasserstein", "p_hat": SKEW, "radius": 0.05}},
        {"matrix": ROWS, "uncertainty": {"kind": "credible", "counts": [[30, 20], [10, 40]]}},
        {"matrix": ROWS, "uncertainty": {"kind": "kullback-leibler", "p_hat": SKEW, "radius": 0.01}},
        {"matrix": ROWS, "uncertainty": {"kind": "hellinger", "p_hat": SQUARE, "radius": 0.05}},
        {"matrix": ROWS, "uncertainty": {"kind": "chi-squared", "p_hat": SQUARE, "n": 500}},
    ],
    "set-optimum": [
        {"epsilon": 1.0, "uncertainty": {"kind": "known", "p": SQUARE}},
        {"epsilon": 1.0, "uncertainty": {"kind": "total-variation", "p_hat": SQUARE, "radius": 0.01}},
        {"epsilon": 0.5, "uncertainty": {"kind": "credible", "counts": [[30, 20], [10, 40]]}},
        {"epsilon": 1.0, "uncertainty": {"kind": "scenarios", "members": [SQUARE, SKEW]}},
        {"epsilon": 1.0, "uncertainty": {"kind": "kullback-leibler", "p_hat": SQUARE, "radius": 0.003}},
    ],
    "numeric-mean": [{"epsilon": 1.0, "points": 3}, {"epsilon": 2.0, "points": 5}],
    "independent-reporting": [
        {"epsilon": 1.0, "p_hat": SQUARE, "n": 1000},
        {"epsilon": 0.5, "p_hat": SKEW, "n": 100},
        {"epsilon": 1.0, "p_hat": SQUARE, "n": 1000, "blocks": "optimal"},
        {"epsilon": 0.5, "p_hat": SKEW, "n": 100, "calibrate": True},
    ],
    "grr-conditional": [
        {"epsilon": 0.5, "p_hat": SKEW, "n": 100},
        {"epsilon": 0.5, "p_hat": SQUARE, "n": 100},
        {"epsilon": 0.5, "p_hat": SKEW, "n": 100, "calibrate": True},
    ],
    "ue-conditional": [
        {"epsilon": 1.0, "p_hat": SQUARE, "n": 1000},
        {"epsilon": 0.5, "p_hat": SKEW, "n": 100},
        {"epsilon": 0.5, "p_hat": SKEW, "n": 100, "calibrate": True},
        {"epsilon": 0.5, "p_hat": SKEW, "n": 100, "blocks": "optimal"},
    ],
}
"""Parameters by kind. Where a kind is not here, its examples are small enough."""

WIDE = [[0.05, 0.02, 0.06, 0.03, 0.04, 0.07, 0.01, 0.02, 0.05, 0.03, 0.06, 0.04, 0.02]] * 2
LARGE = {
    "polyopt": [{"epsilon": 1.0, "p_hat": [WIDE[0], WIDE[1][::-1]], "n": 1000}],
    "grr-conditional": [{"epsilon": 0.5, "p_hat": SQUARE, "n": 100, "blocks": "optimal"}],
}
"""More parameters, whose files take the checker about half a second: for runs by hand."""

TABLE = {"ill": ["yes", "no", "no", "yes", "no"] * 8, "age": [20, 30, 45, 60, 70] * 8}
WORDS = {"ill": TABLE["ill"], "town": ["a", "b", "b", "c", "c", "d", "a", "b"] * 5}
ASKED = {"secret": "ill", "public": "age", "epsilon": 1.0, "bins": {"age": [40.0]}}
FREE = {"robust": "all", "goal": "information"}
TABLES = [
    {"table": TABLE, **ASKED, "robust": "chi2", "method": "polyopt"},
    {"table": TABLE, **ASKED, "robust": "chi2", "method": "polyopt", "reports": 2},
    {"table": TABLE, **ASKED, "robust": "known", "method": "polyopt"},
    {"table": TABLE, **ASKED, **FREE},
    {"table": TABLE, **ASKED, **FREE, "reports": 3},
    {"table": TABLE, **ASKED, "robust": "chi2", "method": "ir"},
    {
        "table": WORDS,
        "secret": "ill",
        "public": "town",
        "epsilon": 2.0,
        "top": {"town": 2},
        **FREE,
    },
    {"table": {"town": WORDS["town"]}, "secret": "town", "epsilon": 1.0},
]
"""Tables, and what a design for them is asked for."""
