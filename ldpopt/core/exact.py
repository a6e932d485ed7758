"""What ldpopt takes from the checker: the one door between the two.

A problem evaluates its answers, and a solver tests its proofs, in the exact arithmetic by which the
checker will decide them. They find it here, so that the rooms of the checker may change without theirs,
and every name that they need can be read off one page. Only ``ldpopt.engine.verifying`` and the command
``ldpopt verify`` run the checker itself. A name is imported when it is used first: no command loads the
proofs of kinds that it does not touch.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldpopt.checker import frame
    from ldpopt.checker.frame import EXIT_CODES, check
    from ldpopt.checker.kernel.arithmetic import exp, exp_above, exp_below, log_above, log_below
    from ldpopt.checker.kernel.budget import BYTES, SECONDS, UndecidedError, alarmed
    from ldpopt.checker.kernel.claims import OPEN, Claim, Verdict, combined, printable, quoted, visible
    from ldpopt.checker.kernel.exit_codes import ExitCode
    from ldpopt.checker.kernel.fixed_point import BITS as UNIT_BITS
    from ldpopt.checker.kernel.fixed_point import UNIT, Vector, units_down
    from ldpopt.checker.kernel.former_names import with_names_of_today
    from ldpopt.checker.kernel.labels import Labels
    from ldpopt.checker.kernel.optimality import GAP_FLOOR, NOISE, is_optimal
    from ldpopt.checker.kernel.printed_numbers import printed
    from ldpopt.checker.kernel.proofs.alike_rows import treats_alike
    from ldpopt.checker.kernel.proofs.asymptotic_bound import bound_above as asymptotic_bound
    from ldpopt.checker.kernel.proofs.asymptotic_bound import shortage as asymptotic_shortage
    from ldpopt.checker.kernel.proofs.asymptotic_bound import slopes as asymptotic_slopes
    from ldpopt.checker.kernel.proofs.asymptotic_value import DesignStatement
    from ldpopt.checker.kernel.proofs.asymptotic_value import utility as asymptotic_utility
    from ldpopt.checker.kernel.proofs.block_splits import Cells as BlockCells
    from ldpopt.checker.kernel.proofs.block_splits import Splits as BlockSplits
    from ldpopt.checker.kernel.proofs.circulant_phi_bound import circulant_phi_reaches
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
    from ldpopt.checker.kernel.proofs.exposure_prices import SafeWeights
    from ldpopt.checker.kernel.proofs.exposure_prices import choices as exposure_choices
    from ldpopt.checker.kernel.proofs.exposure_rules import MOST_FEATURES, Marginals
    from ldpopt.checker.kernel.proofs.exposure_rules import provable as provable_exposure
    from ldpopt.checker.kernel.proofs.exposure_rules import proven as proven_exposure
    from ldpopt.checker.kernel.proofs.extreme_rays import apart, extreme_rays
    from ldpopt.checker.kernel.proofs.fidelity_bounds import (
        affine_bound,
        alpha_bound,
        balanced_phi,
        phi_bound,
        weighted_phi_bound,
    )
    from ldpopt.checker.kernel.proofs.fidelity_bounds import design_bound as moment_design_bound
    from ldpopt.checker.kernel.proofs.fidelity_bounds import minimax_bound as proven_minimax_bound
    from ldpopt.checker.kernel.proofs.fidelity_bounds import symmetric_bound as proven_symmetric_bound
    from ldpopt.checker.kernel.proofs.future_users import Sample as UserSample
    from ldpopt.checker.kernel.proofs.future_users import expected_exposure
    from ldpopt.checker.kernel.proofs.information_ceiling import CEILING, conditional_entropy_above
    from ldpopt.checker.kernel.proofs.labelled_inputs import (
        ABSENT,
        DOMAIN,
        MISSING,
        MOST_PREFIX,
        MOST_TOGETHER,
        OTHER,
        bin_names,
        content_digest,
        look,
        point_names,
        range_points,
    )
    from ldpopt.checker.kernel.proofs.leakage_cover import Cover as LeakageCover
    from ldpopt.checker.kernel.proofs.leakage_cover import renamings as column_renamings
    from ldpopt.checker.kernel.proofs.least_information import robust_information
    from ldpopt.checker.kernel.proofs.outer_cone import Outer as OuterCone
    from ldpopt.checker.kernel.proofs.polyhedral_duality import left_sides as program_left_sides
    from ldpopt.checker.kernel.proofs.polyhedral_duality import lifted_rows
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
    from ldpopt.checker.kernel.proofs.shared_slack import SharedSlack
    from ldpopt.checker.kernel.proofs.square_phi_bound import square_phi_reaches
    from ldpopt.checker.kernel.proofs.square_phi_tree import square_phi_proven
    from ldpopt.checker.kernel.proofs.stated_sets import UNCERTAINTY, read_set
    from ldpopt.checker.kernel.proofs.table_promises import TablePromise, pair_level, table_promise
    from ldpopt.checker.kernel.proofs.two_reports import gains as gains_of_two
    from ldpopt.checker.kernel.proofs.two_reports import vertices as vertices_of_two
    from ldpopt.checker.kernel.proofs.unary_encoding import is_private as is_unary_private
    from ldpopt.checker.kernel.proofs.unary_encoding import read_unary
    from ldpopt.checker.kernel.proofs.unary_encoding import value_below as unary_value_below
    from ldpopt.checker.kernel.proofs.unbiased_reports import covers as covers_interval
    from ldpopt.checker.kernel.proofs.unbiased_reports import moments as exact_moments
    from ldpopt.checker.kernel.proofs.uncertainty_sets import Scenarios as ScenarioSet
    from ldpopt.checker.kernel.proofs.uncertainty_sets import UncertaintySet
    from ldpopt.checker.kernel.proofs.uncertainty_sets import Wasserstein as WassersteinBall
    from ldpopt.checker.kernel.proofs.weak_duality import Proof as ProgramProof
    from ldpopt.checker.kernel.proofs.weak_duality import Question as ProgramQuestion
    from ldpopt.checker.kernel.proofs.weak_duality import dominates as dominates_program
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


if not TYPE_CHECKING:  # type checkers read the imports above, and a program finds them here

    @cache
    def homes():
        """Read the home of every name off the imports above."""
        lines = ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
        froms = [line for line in lines if isinstance(line, ast.ImportFrom) and line.col_offset]
        names = [(line.module, name) for line in froms for name in line.names]
        return {name.asname or name.name: f"{home}.{name.name}" for home, name in names}

    def __getattr__(name):
        """Import a name when it is used first."""
        if name not in homes():
            raise AttributeError(f"module 'ldpopt.core.exact' has no attribute {name!r}")
        found = globals()[name] = resolve_name(homes()[name])
        return found
