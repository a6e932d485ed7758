"""Say in a line what each method of design does; no solver is imported, so that a listing is quick."""

from ldpopt.core.errors import LdpoptError
from ldpopt.mechanisms import ENCODINGS


def _summary(name: str) -> str:
    """Read the line of an encoding from its source; one broken plug-in does not hide the others."""
    try:
        source = ENCODINGS.source(name)
        return str(source.constants.get("summary", source.summary))
    except LdpoptError as error:
        return f"BROKEN: {error}"


SUMMARIES = {
    "optimum": "seeks the best of all that are private against the confidence set",
    "polyopt": "seeks the best over the polytopes around the confidence set",
    "calibrated": "polyopt over wider cones, mixed until the exact audit allows it",
    "staircase": "seeks the best for every distribution of the data",
    "srr": "secret randomised response",
    "ir": "independent reporting of secret and public, its levels by the exact audit",
    "cr": "conditional reporting after randomised response, its levels by the exact audit",
    "ue": "conditional reporting after unary encoding, its levels by the exact audit",
    "ldp": "seeks the best that hides all columns, public ones too",
    "learn": "subset selection, or a balanced design near it, for frequencies under plain LDP",
    "queries": "seeks the least squared error of the wanted frequencies; for chi2 in polyopt's cone",
    "composed": "seeks the best under --given, --sensitive or --levels-of-secrecy",
    "public": "the public values as they are",
    "blurred": "the public values with as little noise as the level takes, by the exact audit",
    "grr": "randomised response on all columns",
    "sampled": "a report about one of the wanted columns, drawn and announced, by subset selection",
    "split": "a report about one public column, drawn and announced, by the best mechanism found for it",
    "mean": "seeks the least worst variance of the report of a number, for its mean (--mean)",
    "average": "seeks the least mean variance for the numbers of this table (--mean)",
    **{name: _summary(name) for name in ENCODINGS},
    "hadamard": "the sign of the cell in a column of a Hadamard matrix, with noise; up to 65,536 cells",
}
"""By the name of the method, the one that ``auto`` prefers first."""
FIXED = ("srr", "grr", "learn")
"""Methods whose matrix is the same for all tables with the same labels, as encodings are."""
UNCOUNTED = ("mean",)
"""Methods that are not given the counts of the table, and whose matrix tells its inputs apart."""
CHOSEN = ("staircase", "ldp", "public")
"""Methods whose matrix the counts choose among finitely many, or allow."""
