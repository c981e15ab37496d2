// Compares two bodies of one event: the same bytes, the same JSON, or what differs.

const MAX_NAMED = 3;
/** A larger document can have paths that are megabytes long, and many of them. */
const MAX_LENGTH = 100_000;

/** The rest of a sentence. */
export function compareBodies(before: string, after: string): string {
  if (before === after) return 'the same bytes';
  const changed = changedFields(before, after);
  if (changed === undefined) return 'the bytes differ';
  if (changed.length === 0) return 'the same JSON in other bytes';
  const more = changed.length > MAX_NAMED ? ` and ${changed.length - MAX_NAMED} more` : '';
  return `it differs in ${changed.slice(0, MAX_NAMED).join(', ')}${more}`;
}

/** The paths of two JSON documents whose values differ; undefined if one is not JSON, or too long. */
function changedFields(before: string, after: string): string[] | undefined {
  try {
    const [one, other] = [fieldsOf(before), fieldsOf(after)];
    return [...new Set([...one.keys(), ...other.keys()])].filter((path) => one.get(path) !== other.get(path));
  } catch {
    // Also JSON that is too deep to walk.
    return undefined;
  }
}

/** The values of a document as JSON, by path. @throws for text that is too long, or not JSON */
export function fieldsOf(text: string): Map<string, string> {
  if (text.length > MAX_LENGTH) throw new RangeError('too long');
  const fields = new Map<string, string>();
  const walk = (value: unknown, path: string) => {
    const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    if (inner.length === 0) fields.set(path || '(body)', JSON.stringify(value));
    for (const [name, each] of inner) walk(each, path === '' ? name : `${path}.${name}`);
  };
  walk(JSON.parse(text), '');
  return fields;
}
