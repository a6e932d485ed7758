"""What ldpopt takes from the checker: the one door between the two.

A problem evaluates its answers, and a solver tests its proofs, in the exact arithmetic by which the
checker will decide them. They find it here, so that the rooms of the checker may change without theirs,
and every name that they need can be read off one page. Only ``ldpopt.engine.verifying`` and the command
``ldpopt verify`` run the checker itself. A name is imported when it is used first: no command loads the
proofs of kinds that it does not touch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldpopt.checker import frame
    from ldpopt.checker.frame import EXIT_CODES, check
    from ldpopt.checker.kernel.arithmetic import dyadic, exp, exp_above, exp_below, log_above, log_below
    from ldpopt.checker.kernel.budget import SECONDS, UndecidedError, alarmed, confined
    from ldpopt.checker.kernel.claims import OPEN, Claim, Verdict, combined, printable, quoted, visible
    from ldpopt.checker.kernel.exit_codes import ExitCode
    from ldpopt.checker.kernel.fixed_point import BITS as UNIT_BITS
    from ldpopt.checker.kernel.fixed_point import UNIT, Vector, units_down
    from ldpopt.checker.kernel.former_names import with_names_of_today
    from ldpopt.checker.kernel.labels import Labels
    from ldpopt.checker.kernel.optimality import GAP_FLOOR, NOISE, is_optimal
    from ldpopt.checker.kernel.printed_numbers import printed
    from ldpopt.checker.kernel.proofs.alike_rows import treats_alike
    from ldpopt.checker.kernel.proofs.asymptotic_bound import atom_leakage
    from ldpopt.checker.kernel.proofs.asymptotic_bound import bound_above as asymptotic_bound
    from ldpopt.checker.kernel.proofs.asymptotic_bound import shortage as asymptotic_shortage
    from ldpopt.checker.kernel.proofs.asymptotic_bound import slopes as asymptotic_slopes
    from ldpopt.checker.kernel.proofs.asymptotic_value import DesignStatement
    from ldpopt.checker.kernel.proofs.asymptotic_value import utility as asymptotic_utility
    from ldpopt.checker.kernel.proofs.block_splits import Cells as BlockCells
    from ldpopt.checker.kernel.proofs.block_splits import Splits as BlockSplits
    from ldpopt.checker.kernel.proofs.circulant_phi_bound import circulant_phi_reaches
    from ldpopt.checker.kernel.proofs.column_utilities import MOST_LOG_POWER, OF_A_PRIOR, OF_HYPOTHESES
    from ldpopt.checker.kernel.proofs.confidence_set import ALPHA as SET_ALPHA
    from ldpopt.checker.kernel.proofs.confidence_set import SAMPLES as SET_SAMPLES
    from ldpopt.checker.kernel.proofs.confidence_set import (
        RobustStatement,
        check_table,
        read_robust_question,
    )
    from ldpopt.checker.kernel.proofs.confidence_set import is_member as is_confidence_member
    from ldpopt.checker.kernel.proofs.cut_parts import LARGEST_RATIO, MOST_SELECTIONS
    from ldpopt.checker.kernel.proofs.cut_parts import Renyi as RenyiNotion
    from ldpopt.checker.kernel.proofs.cut_parts import Robust as RobustNotion
    from ldpopt.checker.kernel.proofs.cut_parts import Selections as SelectionsNotion
    from ldpopt.checker.kernel.proofs.designs import Design as ExactDesign
    from ldpopt.checker.kernel.proofs.differences import Budget, Difference
    from ldpopt.checker.kernel.proofs.differences import Part as Notion
    from ldpopt.checker.kernel.proofs.dirichlet_points import UNIT as POINT_UNIT
    from ldpopt.checker.kernel.proofs.dirichlet_points import prior_points
    from ldpopt.checker.kernel.proofs.encodings import ENCODING, MOST_BUCKETS, read_encoding
    from ldpopt.checker.kernel.proofs.encodings import error as encoding_error
    from ldpopt.checker.kernel.proofs.exposure_rules import MOST_FEATURES, Marginals
    from ldpopt.checker.kernel.proofs.exposure_rules import provable as provable_exposure
    from ldpopt.checker.kernel.proofs.exposure_rules import proven as proven_exposure
    from ldpopt.checker.kernel.proofs.extreme_rays import apart, extreme_rays
    from ldpopt.checker.kernel.proofs.fidelity_bounds import (
        affine_bound,
        alpha_bound,
        balanced_phi,
        phi_bound,
    )
    from ldpopt.checker.kernel.proofs.fidelity_bounds import design_bound as moment_design_bound
    from ldpopt.checker.kernel.proofs.fidelity_bounds import minimax_bound as proven_minimax_bound
    from ldpopt.checker.kernel.proofs.fidelity_bounds import symmetric_bound as proven_symmetric_bound
    from ldpopt.checker.kernel.proofs.future_users import Sample as UserSample
    from ldpopt.checker.kernel.proofs.future_users import expected_exposure
    from ldpopt.checker.kernel.proofs.half_cone import HalfCone
    from ldpopt.checker.kernel.proofs.information_ceiling import CEILING, conditional_entropy_above
    from ldpopt.checker.kernel.proofs.labelled_inputs import (
        MISSING,
        MOST_PREFIX,
        MOST_TOGETHER,
        OTHER,
        bin_names,
        content_digest,
        point_names,
        range_points,
    )
    from ldpopt.checker.kernel.proofs.least_information import robust_information
    from ldpopt.checker.kernel.proofs.outer_cone import Outer as OuterCone
    from ldpopt.checker.kernel.proofs.polyopt_blocks import dominates as dominates_polyopt_cone
    from ldpopt.checker.kernel.proofs.polyopt_cone import in_cone as in_polyopt_cone
    from ldpopt.checker.kernel.proofs.polyopt_cone import merged as merged_table
    from ldpopt.checker.kernel.proofs.private_rows import is_private
    from ldpopt.checker.kernel.proofs.query_bound import clear_error as clear_query_error
    from ldpopt.checker.kernel.proofs.rare_cells import tree_bound as rare_cells_bound
    from ldpopt.checker.kernel.proofs.reporting_protocols import Protocol, Reporting
    from ldpopt.checker.kernel.proofs.reporting_protocols import of_kind as is_reporting_protocol
    from ldpopt.checker.kernel.proofs.robust_claims import (
        AUDIT_ERROR,
        empirical_information,
        tells_apart,
    )
    from ldpopt.checker.kernel.proofs.robust_privacy import is_robustly_private
    from ldpopt.checker.kernel.proofs.second_moments import Enclosed as EnclosedMatrix
    from ldpopt.checker.kernel.proofs.second_moments import phi_above
    from ldpopt.checker.kernel.proofs.selection_trees import UNIT as PRICE_UNIT
    from ldpopt.checker.kernel.proofs.selection_trees import Leaf as PriceLeaf
    from ldpopt.checker.kernel.proofs.selection_trees import Row as SelectionRow
    from ldpopt.checker.kernel.proofs.selection_trees import (
        SelectionStatement,
        by_secret,
        leaks_within,
        released_row,
    )
    from ldpopt.checker.kernel.proofs.selection_trees import Tree as PriceTree
    from ldpopt.checker.kernel.proofs.selection_trees import leakage as selection_leakage
    from ldpopt.checker.kernel.proofs.selection_trees import tree_bound as selection_bound
    from ldpopt.checker.kernel.proofs.set_privacy import Comparison as SecretComparison
    from ldpopt.checker.kernel.proofs.set_privacy import LevelStatement, SetPrivacy, told_apart
    from ldpopt.checker.kernel.proofs.set_privacy import multiplier as set_multiplier
    from ldpopt.checker.kernel.proofs.square_phi_bound import square_phi_reaches
    from ldpopt.checker.kernel.proofs.stated_sets import UNCERTAINTY, read_set
    from ldpopt.checker.kernel.proofs.table_promises import TablePromise, table_promise
    from ldpopt.checker.kernel.proofs.two_reports import gains as gains_of_two
    from ldpopt.checker.kernel.proofs.two_reports import vertices as vertices_of_two
    from ldpopt.checker.kernel.proofs.unary_encoding import is_private as is_unary_private
    from ldpopt.checker.kernel.proofs.unary_encoding import read_unary
    from ldpopt.checker.kernel.proofs.unary_encoding import value_below as unary_value_below
    from ldpopt.checker.kernel.proofs.unbiased_reports import covers as covers_interval
    from ldpopt.checker.kernel.proofs.unbiased_reports import moments as exact_moments
    from ldpopt.checker.kernel.proofs.unbiased_reports import worst_variance as exact_worst_variance
    from ldpopt.checker.kernel.proofs.uncertainty_sets import Scenarios as ScenarioSet
    from ldpopt.checker.kernel.proofs.uncertainty_sets import UncertaintySet
    from ldpopt.checker.kernel.proofs.uncertainty_sets import Wasserstein as WassersteinBall
    from ldpopt.checker.kernel.proofs.weak_duality import Proof as ProgramProof
    from ldpopt.checker.kernel.proofs.weak_duality import Question as ProgramQuestion
    from ldpopt.checker.kernel.proofs.weak_duality import dominates as dominates_program
    from ldpopt.checker.kernel.proofs.weak_duality import left_sides as program_left_sides
    from ldpopt.checker.kernel.proofs.weak_duality import lifted_rows
    from ldpopt.checker.kernel.proofs.weak_duality import on_corners as dominates_private_columns
    from ldpopt.checker.kernel.proofs.weak_duality import outer as outer_program
    from ldpopt.checker.kernel.proofs.weak_duality import proven_bound as program_bound
    from ldpopt.checker.kernel.proofs.weak_duality import read_proof as read_program_proof
    from ldpopt.checker.kernel.proofs.worst_alpha import convex_from, loss_above, worst_alpha_above
    from ldpopt.checker.kernel.reading import DEEPEST, UnreadableError, unshown
    from ldpopt.checker.kernel.schema import LEAST_EPSILON, MOST_EPSILON, Schema, normalised
    from ldpopt.checker.kernel.schema import SUM_TOLERANCE as EXACT_SUM_TOLERANCE
    from ldpopt.checker.statements.asymptotic_utility import private_enough
    from ldpopt.checker.statements.composition_bound import METHODS as COMPOSITION_METHODS
    from ldpopt.checker.statements.composition_bound import Question as CompositionQuestion
    from ldpopt.checker.statements.composition_bound import proven_by as composition_proven
    from ldpopt.checker.statements.composition_bound import reached_by as composition_reached
    from ldpopt.checker.statements.feature_release import SAFETY_RULES, sample_of, table_exposure
    from ldpopt.checker.statements.feature_release import rarest as rarest_values
    from ldpopt.checker.statements.fidelity import least_probability
    from ldpopt.checker.statements.leakage_design import LeakageStatement, cost_bound, worst_cost
    from ldpopt.checker.statements.numeric_mean import Question as NumericQuestion
    from ldpopt.checker.statements.numeric_mean import bound_below as numeric_bound_below
    from ldpopt.checker.statements.program import keeps as keeps_condition
    from ldpopt.checker.statements.public_mechanism import PROMISES, RECOVERABLE, public_digest
    from ldpopt.checker.statements.reporting import MOST_SECRETS as MOST_UNARY_SECRETS
    from ldpopt.checker.statements.robust_fidelity import bound_below as query_bound_below
    from ldpopt.checker.statements.robust_fidelity import error_above as query_error_above
    from ldpopt.checker.statements.set_optimum import exact_columns
    from ldpopt.checker.statements.statistic_leakage import MATRIX as LEAKAGE_MATRIX
    from ldpopt.checker.statements.table_design import KNOWN_SAMPLES, private_together
    from ldpopt.checker.statements.table_design import counted as is_counted
    from ldpopt.checker.statements.table_design import digest as design_digest

HOMES = {
    "": "frame",
    "frame": "EXIT_CODES check",
    "kernel.arithmetic": "dyadic exp exp_above exp_below log_above log_below",
    "kernel.budget": "SECONDS UndecidedError alarmed confined",
    "kernel.claims": "Claim OPEN Verdict combined printable quoted visible",
    "kernel.exit_codes": "ExitCode",
    "kernel.former_names": "with_names_of_today",
    "kernel.labels": "Labels",
    "kernel.optimality": "GAP_FLOOR NOISE is_optimal",
    "kernel.printed_numbers": "printed",
    "kernel.proofs.alike_rows": "treats_alike",
    "kernel.proofs.asymptotic_bound": (
        "atom_leakage bound_above:asymptotic_bound shortage:asymptotic_shortage slopes:asymptotic_slopes"
    ),
    "kernel.proofs.asymptotic_value": "DesignStatement utility:asymptotic_utility",
    "kernel.proofs.block_splits": "Cells:BlockCells Splits:BlockSplits",
    "kernel.proofs.circulant_phi_bound": "circulant_phi_reaches",
    "kernel.proofs.column_utilities": "MOST_LOG_POWER OF_A_PRIOR OF_HYPOTHESES",
    "kernel.proofs.confidence_set": (
        "ALPHA:SET_ALPHA RobustStatement SAMPLES:SET_SAMPLES check_table "
        "is_member:is_confidence_member read_robust_question"
    ),
    "kernel.proofs.cut_parts": (
        "LARGEST_RATIO MOST_SELECTIONS Renyi:RenyiNotion Robust:RobustNotion Selections:SelectionsNotion"
    ),
    "kernel.proofs.designs": "Design:ExactDesign",
    "kernel.proofs.differences": "Budget Difference Part:Notion",
    "kernel.proofs.dirichlet_points": "UNIT:POINT_UNIT prior_points",
    "kernel.proofs.encodings": "ENCODING MOST_BUCKETS error:encoding_error read_encoding",
    "kernel.proofs.exposure_rules": (
        "MOST_FEATURES Marginals provable:provable_exposure proven:proven_exposure"
    ),
    "kernel.proofs.extreme_rays": "apart extreme_rays",
    "kernel.proofs.fidelity_bounds": (
        "affine_bound alpha_bound balanced_phi design_bound:moment_design_bound "
        "minimax_bound:proven_minimax_bound phi_bound "
        "symmetric_bound:proven_symmetric_bound"
    ),
    "kernel.proofs.future_users": "Sample:UserSample expected_exposure",
    "kernel.proofs.half_cone": "HalfCone",
    "kernel.proofs.information_ceiling": "CEILING conditional_entropy_above",
    "kernel.proofs.labelled_inputs": (
        "MISSING MOST_PREFIX MOST_TOGETHER OTHER bin_names content_digest point_names range_points"
    ),
    "kernel.proofs.least_information": "robust_information",
    "kernel.proofs.outer_cone": "Outer:OuterCone",
    "kernel.proofs.polyopt_blocks": "dominates:dominates_polyopt_cone",
    "kernel.proofs.polyopt_cone": "in_cone:in_polyopt_cone merged:merged_table",
    "kernel.proofs.private_rows": "is_private",
    "kernel.proofs.query_bound": "clear_error:clear_query_error",
    "kernel.proofs.rare_cells": "tree_bound:rare_cells_bound",
    "kernel.proofs.reporting_protocols": "Protocol Reporting of_kind:is_reporting_protocol",
    "kernel.proofs.robust_claims": "AUDIT_ERROR empirical_information tells_apart",
    "kernel.proofs.robust_privacy": "is_robustly_private",
    "kernel.proofs.second_moments": "Enclosed:EnclosedMatrix phi_above",
    "kernel.proofs.selection_trees": (
        "Leaf:PriceLeaf Row:SelectionRow SelectionStatement Tree:PriceTree "
        "UNIT:PRICE_UNIT by_secret leakage:selection_leakage leaks_within released_row "
        "tree_bound:selection_bound"
    ),
    "kernel.proofs.set_privacy": (
        "Comparison:SecretComparison LevelStatement SetPrivacy multiplier:set_multiplier told_apart"
    ),
    "kernel.proofs.square_phi_bound": "square_phi_reaches",
    "kernel.proofs.stated_sets": "UNCERTAINTY read_set",
    "kernel.proofs.table_promises": "TablePromise table_promise",
    "kernel.proofs.two_reports": "gains:gains_of_two vertices:vertices_of_two",
    "kernel.proofs.unary_encoding": (
        "is_private:is_unary_private read_unary value_below:unary_value_below"
    ),
    "kernel.proofs.unbiased_reports": (
        "covers:covers_interval moments:exact_moments worst_variance:exact_worst_variance"
    ),
    "kernel.proofs.uncertainty_sets": "Scenarios:ScenarioSet UncertaintySet Wasserstein:WassersteinBall",
    "kernel.proofs.weak_duality": (
        "Proof:ProgramProof Question:ProgramQuestion dominates:dominates_program "
        "left_sides:program_left_sides lifted_rows on_corners:dominates_private_columns "
        "outer:outer_program "
        "proven_bound:program_bound read_proof:read_program_proof"
    ),
    "kernel.proofs.worst_alpha": "convex_from loss_above worst_alpha_above",
    "kernel.reading": "DEEPEST UnreadableError unshown",
    "kernel.schema": ("LEAST_EPSILON MOST_EPSILON SUM_TOLERANCE:EXACT_SUM_TOLERANCE Schema normalised"),
    "kernel.fixed_point": "BITS:UNIT_BITS UNIT Vector units_down",
    "statements.asymptotic_utility": "private_enough",
    "statements.composition_bound": (
        "METHODS:COMPOSITION_METHODS Question:CompositionQuestion "
        "proven_by:composition_proven reached_by:composition_reached"
    ),
    "statements.feature_release": "SAFETY_RULES rarest:rarest_values sample_of table_exposure",
    "statements.fidelity": "least_probability",
    "statements.leakage_design": "LeakageStatement cost_bound worst_cost",
    "statements.numeric_mean": "Question:NumericQuestion bound_below:numeric_bound_below",
    "statements.program": "keeps:keeps_condition",
    "statements.public_mechanism": "PROMISES RECOVERABLE public_digest",
    "statements.reporting": "MOST_SECRETS:MOST_UNARY_SECRETS",
    "statements.robust_fidelity": "bound_below:query_bound_below error_above:query_error_above",
    "statements.set_optimum": "exact_columns",
    "statements.statistic_leakage": "MATRIX:LEAKAGE_MATRIX",
    "statements.table_design": (
        "KNOWN_SAMPLES counted:is_counted digest:design_digest private_together"
    ),
}
"""The modules of the checker, each with what is taken of it; after a colon, its clearer name here."""


if not TYPE_CHECKING:  # type checkers read the imports above

    def __getattr__(name):
        """Import a name when it is used first."""
        for home, pairs in HOMES.items():
            for there, _, here in (pair.partition(":") for pair in pairs.split()):
                if name == (here or there):
                    module = import_module(f"ldpopt.checker.{home or there}")
                    found = getattr(module, there) if home else module
                    globals()[name] = found
                    return found
        raise AttributeError(f"module 'ldpopt.core.exact' has no attribute {name!r}")
