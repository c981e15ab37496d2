// Turns the issues of a schema into issues that may be logged, and sent in an answer.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Issue } from '../errors.js';

const OWN = new WeakSet<StandardSchemaV1>();

/** Marks a schema of this package. */
export function ownSchema<Schema extends StandardSchemaV1>(schema: Schema): Schema {
  OWN.add(schema);
  return schema;
}

/** Whether a schema is from this package. The messages of such a schema quote nothing from the event. */
export function isOwnSchema(schema: StandardSchemaV1): boolean {
  return OWN.has(schema);
}

/** How many issues of one event are reported. */
const MAX_ISSUES = 20;

/** Paths and expectations, never values. Messages only of our own schemas: others quote what they received. */
export function toIssues(
  issues: readonly StandardSchemaV1.Issue[],
  prefix: readonly string[],
  ours: boolean,
): readonly Issue[] {
  const reported = issues.slice(0, MAX_ISSUES).map((issue) => ({
    path: [...prefix, ...(issue.path ?? []).map(segment)].join('.'),
    message: ours ? issue.message : expectation(issue),
  }));
  // Handlers and the log share the list.
  return Object.freeze(reported);
}

/** A customer may have written the keys of an open map, so only what looks like a field name is shown. */
function segment(part: PropertyKey | StandardSchemaV1.PathSegment): string {
  const key = String(typeof part === 'object' ? part.key : part);
  return isFieldName(key) || /^\d{1,6}$/.test(key) ? key : '*';
}

/** Whether a key looks like a field name, so that it may be logged and shown. */
export function isFieldName(key: string): boolean {
  return /^[a-z][a-z0-9_]{0,39}$/.test(key);
}

/** zod, valibot and arktype set `expected`, which comes from the schema and quotes nothing from the event. */
function expectation(issue: StandardSchemaV1.Issue): string {
  const { expected } = issue as { expected?: unknown };
  return typeof expected === 'string'
    ? `expected ${expected}`.slice(0, 100)
    : 'does not match the declared schema';
}
