// Checks a payload on each keystroke: whether it is a JSON object, and how it differs from the sample.

export type PayloadCheck = ReturnType<typeof checkPayload>;

const MAX_DIFFERENCES = 3;

export function checkPayload(text: string, sample: object | undefined) {
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch (error) {
    return { valid: false as const, problem: describeSyntaxError(text, error) };
  }
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload))
    return { valid: false as const, problem: 'The payload must be an object: { … }.' };
  const found = sample ? differences(sample, payload, '') : [];
  const shown = found.slice(0, MAX_DIFFERENCES).join(', ');
  const difference = found.length > MAX_DIFFERENCES ? `${shown}, …` : shown;
  return { valid: true as const, payload, difference: difference || undefined };
}

/** Fields of the sample that are missing or have another type. Null matches every type: a null does not tell which. */
function differences(sample: object, value: object, path: string): string[] {
  const fields = new Map(Object.entries(value));
  return Object.entries(sample).flatMap(([key, expected]) => {
    const name = path === '' ? key : `${path}.${key}`;
    const given: unknown = fields.get(key);
    if (given === undefined) return [`${name} is missing`];
    if (expected === null || given === null) return [];
    if (typeName(given) !== typeName(expected))
      return [`${name} is ${typeName(given)} instead of ${typeName(expected)}`];
    return typeName(given) === 'an object' ? differences(expected, given as object, name) : [];
  });
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Adds line and column: browsers format them differently or omit them. */
function describeSyntaxError(text: string, error: unknown): string {
  if (text.trim() === '') return 'The payload is empty. Enter an object: { … }.';
  const message = error instanceof Error ? error.message : '';
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  if (line && column) return `Invalid JSON at line ${line}, column ${column}.`;
  const [, position] = /position (\d+)/.exec(message) ?? [];
  const before = text.slice(0, position === undefined ? text.length : Number(position)).split('\n');
  return `Invalid JSON at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}.`;
}
