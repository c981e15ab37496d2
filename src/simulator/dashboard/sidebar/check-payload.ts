// Checks a payload while it is being typed: that it is JSON and an object, and how it differs from the sample.

export type PayloadCheck =
  | { readonly fine: true; readonly payload: object; readonly remark: string | undefined }
  | { readonly fine: false; readonly problem: string };

const MOST_DIFFERENCES = 3;

export function checkPayload(text: string, sample: object | undefined): PayloadCheck {
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch (error) {
    return { fine: false, problem: place(text, error) };
  }
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
    return { fine: false, problem: 'A payload is an object: { … }.' };
  }
  const found = sample ? differences(sample, payload, '') : [];
  const shown = found.slice(0, MOST_DIFFERENCES).join(', ');
  const remark = found.length > MOST_DIFFERENCES ? `${shown}, …` : shown;
  return { fine: true, payload, remark: remark || undefined };
}

/** Members of the sample that are missing or of another type. Null is no type: the sample does not say which. */
function differences(sample: object, value: object, path: string): string[] {
  const fields = new Map(Object.entries(value));
  return Object.entries(sample).flatMap(([key, expected]) => {
    const here = path === '' ? key : `${path}.${key}`;
    const given: unknown = fields.get(key);
    if (given === undefined) return [`no ${here}`];
    if (expected === null || given === null) return [];
    if (kind(given) !== kind(expected)) return [`${here} is ${kind(given)} instead of ${kind(expected)}`];
    return kind(given) === 'an object' ? differences(expected, given as object, here) : [];
  });
}

function kind(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'string' ? 'text' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Browsers say in different ways where the fault is; some do not say it. */
function place(text: string, error: unknown): string {
  if (text.trim() === '') return 'Empty: a payload is an object, { … }.';
  const message = error instanceof Error ? error.message : '';
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  if (line && column) return `Not JSON: look at line ${line}, column ${column}.`;
  const [, position] = /position (\d+)/.exec(message) ?? [];
  const before = text.slice(0, position === undefined ? text.length : Number(position)).split('\n');
  return `Not JSON: look at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}.`;
}
