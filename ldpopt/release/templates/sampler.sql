-- Reports of one mechanism inside a database, written by `ldpopt export --target sql`.
--
-- What is promised: __PROMISE__.
-- What this script tells: __COUNTS__.
--
-- The database must have:
-- * A function ldpopt_random_bits() that returns a whole number from 0 to 2^52 - 1, each equally likely,
--   a new one for every row, from a cryptographic generator. RANDOM() of SQL is not one: its numbers can
--   be guessed from earlier ones, and then the noise can be removed from the reports.
--   PostgreSQL, with the extension pgcrypto:
--     CREATE FUNCTION ldpopt_random_bits() RETURNS bigint VOLATILE LANGUAGE sql AS
--       $$ SELECT ('x' || encode(gen_random_bytes(7), 'hex'))::bit(56)::bigint >> 4 $$;
--   SQLite has no such function; the program that opens the database registers one, in Python:
--     connection.create_function("ldpopt_random_bits", 0, lambda: secrets.randbits(52))
-- * A table or view ldpopt_people with the columns of the mechanism (those with bins of a numeric type;
--   bins of dates and times compare seconds since 1970-01-01 UTC) and ldpopt_row, the number of the person.
--   A value that the mechanism does not know stops the script, and so do a cell with bins that is no finite
--   number and a second row with the same number: each person has one report. (SQLite stores NaN as NULL:
--   an empty cell.) Two rows of one person with two numbers, and a second run on the same people, are for
--   you to prevent.
--
-- Exact: every probability of the mechanism is a multiple of 2^-52, and 52 random bits are compared with
-- cumulative sums, whole numbers of 64 bits. Whoever can guess the bits can take the noise out again.
-- The database sees the values as they are, and its log may keep the bits; only reports may leave it.
-- Where each person has a device, use --target js or python there.
--
-- The result is the table ldpopt_released. Publish its second column, in the order of the first.

BEGIN;

CREATE TABLE ldpopt_input (ldpopt_x INTEGER PRIMARY KEY, __TYPED__, UNIQUE (__COLUMNS__));
INSERT INTO ldpopt_input VALUES
__INPUTS__;

CREATE TABLE ldpopt_step (x INTEGER, y INTEGER, low BIGINT, high BIGINT, PRIMARY KEY (x, y));
INSERT INTO ldpopt_step VALUES
__STEPS__;

-- The self-test: a test vector whose report is another stops the script.
CREATE TABLE ldpopt_vector (x INTEGER, bits BIGINT, y INTEGER);
INSERT INTO ldpopt_vector VALUES
__VECTORS__;
CREATE TABLE ldpopt_self_test (wrong INTEGER CHECK (wrong = 0));
INSERT INTO ldpopt_self_test SELECT count(*) FROM ldpopt_vector AS v WHERE NOT EXISTS (
  SELECT 1 FROM ldpopt_step AS s
  WHERE s.x = v.x AND s.low <= v.bits AND v.bits < s.high AND s.y = v.y
);

-- The bits are stored before they are compared, so that each row has one draw; then they are removed.
-- The keys see to it that no person has two.
CREATE TABLE ldpopt_draw (
  ldpopt_row BIGINT NOT NULL PRIMARY KEY, x INTEGER NOT NULL,
  bits BIGINT NOT NULL CHECK (bits BETWEEN 0 AND 4503599627370495)
);
INSERT INTO ldpopt_draw
  SELECT p.ldpopt_row, i.ldpopt_x, ldpopt_random_bits()
  FROM ldpopt_people AS p LEFT JOIN ldpopt_input AS i ON __MATCH__;
CREATE TABLE ldpopt_released (ldpopt_row BIGINT NOT NULL PRIMARY KEY, __REPORT__ INTEGER NOT NULL);
INSERT INTO ldpopt_released
  SELECT d.ldpopt_row, s.y
  FROM ldpopt_draw AS d JOIN ldpopt_step AS s ON s.x = d.x AND s.low <= d.bits AND d.bits < s.high;
DROP TABLE ldpopt_draw;

COMMIT;
