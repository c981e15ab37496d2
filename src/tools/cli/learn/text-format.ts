// What texts look like, and a made-up text that looks the same.

const FORMATS = [
  ['empty', /^$/, ''],
  ['uuid', /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i, '00000000-0000-4000-8000-000000000001'],
  [
    'date-time',
    /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$/,
    '2030-01-31T12:00:00Z',
  ],
  ['date', /^\d{4}-\d\d-\d\d$/, '2030-01-31'],
  ['e-mail', /^[^\s@]+@[^\s@]+$/, 'someone@example.com'],
  ['url', /^https?:\/\/\S+$/i, 'https://example.com/'],
  ['whole number', /^-?\d+$/, '1001'],
  ['decimal', /^-?\d+[.,]\d+$/, '12.50'],
  ['upper case', /^[A-Z][A-Z\d_]*$/, 'CODE'],
  ['word', /^[a-z][a-z_-]*$/, 'word'],
  ['reference', /^\S+$/, 'ref-1001'],
  ['text', /^/, 'Made-up text'],
] as const;

export type TextFormat = (typeof FORMATS)[number][0];

export function textFormat(text: string): TextFormat {
  return FORMATS.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text';
}

/** @param formats of all texts that were at one place */
export function madeUpText(formats: ReadonlySet<TextFormat>): string {
  const filled = [...formats].filter((format) => format !== 'empty');
  const [only = 'empty'] = filled;
  const format = filled.length > 1 ? 'text' : only;
  return FORMATS.find(([name]) => name === format)?.[2] ?? '';
}
