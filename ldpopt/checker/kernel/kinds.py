"""Which section of ``statements`` decides which kind and which form."""

SECTIONS = {
    "program": ("program staircase secret-staircase", "program column-program private-mechanism"),
    "fidelity": (
        "circulant-fidelity square-fidelity broad-fidelity fidelity minimax-fidelity",
        "matrix-program moment-program minimax-program",
    ),
    "statistic_leakage": ("statistic-leakage", "selection-program"),
    "leakage_design": ("leakage-design", "leakage-program"),
    "asymptotic_utility": ("asymptotic-utility privacy-utility-frontier", "convex-program"),
    "polyopt": ("polyopt", "polyopt"),
    "robust_optimum": ("robust-optimum", "robust-optimum"),
    "robust_fidelity": ("robust-fidelity", "query-program"),
    "robust_level": ("robust-level", "robust-level"),
    "set_optimum": ("set-optimum", "set-optimum"),
    "reporting": ("independent-reporting grr-conditional ue-conditional", "reporting"),
    "composition_bound": ("composition-bound", "composition-bound"),
    "feature_release": ("feature-release", "feature-release"),
    "numeric_mean": ("numeric-mean", "numeric-mean"),
    "frequency_encoding": ("frequency-encoding", "encoding"),
}
"""The kinds and the forms of every section, which is imported when a file needs it. A kind of another
package may state itself in any form."""
KINDS, FORMS = (
    {name: section for section, names in SECTIONS.items() for name in names[i].split()} for i in (0, 1)
)
