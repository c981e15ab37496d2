// Statements and table names, as the SQL stores send them.
import { createHash } from 'node:crypto';
import { ConfigurationError } from '../../errors.js';
import { show } from '../../misuse.js';

/** How many rows are deleted at once. */
export const PRUNE_BATCH = 1_000;

export class Statement {
  /** Its parameters are `$1`, `$2` and so on, in any order, each once or more. Postgres casts them: `$4::float8`. */
  readonly text: string;
  /** The name under which each connection prepares it once. Undefined: the server plans it each time. */
  readonly name: string | undefined;

  constructor(text: string, { prepared = true } = {}) {
    this.text = text;
    this.name = prepared
      ? `payment_webhooks_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
      : undefined;
  }

  /** Whether it returns rows. After any other statement, what clients resolve with differs, and is ignored. */
  get returnsRows(): boolean {
    return /^\s*(?:\/\*.*?\*\/\s*)?(?:SELECT|WITH)\b|\bRETURNING\b/.test(this.text);
  }
}

export const ROLLBACK = new Statement('ROLLBACK', { prepared: false });

const TABLE = /^(?:([A-Za-z_][A-Za-z0-9_]{0,62})\.)?([A-Za-z_][A-Za-z0-9_]{0,62})$/;
const MAX_NAME = 63;

/**
 * The quoted name, and the names of its indexes.
 *
 * @param option that was given the name
 * @throws {ConfigurationError} if the table is not `name` or `schema.name` of letters, digits and underscores
 */
export function parseTable(
  table: unknown,
  option = 'table',
): {
  readonly table: string;
  readonly index: (columns: string) => string;
} {
  const match = typeof table === 'string' ? TABLE.exec(table) : null;
  if (!match) {
    throw new ConfigurationError(
      `${option} is ${show(table)}. Pass "name" or "schema.name". Each has at most 63 letters, digits and underscores, ` +
        'and does not start with a digit.',
    );
  }
  const [, schema, name = ''] = match;
  return {
    table: schema === undefined ? `"${name}"` : `"${schema}"."${name}"`,
    index: (columns) => indexName(name, columns),
  };
}

/** Postgres would truncate a long name to that of the table, and skip the index because that name exists. */
function indexName(table: string, columns: string): string {
  // The ending keeps it apart from tables, which share its namespace: IF NOT EXISTS would take one for the index, and skip it.
  const index = `${table}_${columns}_idx`;
  return index.length <= MAX_NAME
    ? `"${index}"`
    : `"${table.slice(0, 40)}_${createHash('sha256').update(index).digest('hex').slice(0, 16)}"`;
}
