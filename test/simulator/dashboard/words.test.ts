// The texts of the page: times, captured text, the URL, faults, and the rows of the About dialog.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Fault, Settings } from '../../../src/simulator/dashboard/api/api.js';
import {
  faultEffect,
  faultText,
  signatureEffect,
} from '../../../src/simulator/dashboard/components/fault-text.js';
import {
  formatBytes,
  formatDuration,
  formatPause,
  formatTime,
  formatTimeExactly,
  shortId,
  shortUrl,
  showInvisible,
} from '../../../src/simulator/dashboard/components/format.js';
import { documentedRows } from '../../../src/simulator/dashboard/dialogs/documented.js';
import { formatRoute, parseRoute } from '../../../src/simulator/dashboard/route.js';
import { faultKinds } from '../../../src/simulator/delivery/faults.js';

describe('times and sizes', () => {
  test.each([
    [0.4, '0.4 ms'],
    [12.3, '12 ms'],
    [999, '999 ms'],
    [1_240, '1.24 s'],
    [125_000, '2 m 5 s'],
  ])('%d ms took %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

  test.each([
    [3_001, '4 s'],
    [80_000, '1 m 20 s'],
    [60_000, '1 m'],
    [9_000_000, '2 h 30 m'],
    [36_000_000, '10 h'],
    [200_000_000, '2 d 7 h'],
    [0, '0 s'],
  ])('a pause of %d ms is %s', (ms, text) => expect(formatPause(ms)).toBe(text));

  test('a pause can be said in one unit', () => {
    expect(formatPause(9_000_000, 1)).toBe('2 h');
  });

  test('the day is written only when it is not today', () => {
    const time = new Date(2026, 0, 15, 9, 30, 5, 7);
    expect(formatTime(time.toISOString(), new Date(2026, 0, 15))).toBe('09:30:05');
    expect(formatTime(time.toISOString(), new Date(2026, 0, 16))).toBe('15 Jan, 09:30:05');
    expect(formatTimeExactly(time.toISOString())).toMatch(/09:30:05\.007$/);
  });

  test.each([
    [1, '1 byte'],
    [980, '980 bytes'],
    [1_240, '1.2 KB'],
    [5_000_000, '5.0 MB'],
  ])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  test('ids and URLs are shortened', () => {
    expect(shortId('7f1c22aa-0000-4000-8000-000000000001')).toBe('7f1c22aa');
    expect(shortId('order-1')).toBe('order-1');
    expect(shortUrl('http://localhost:3000/hooks')).toBe('localhost:3000/hooks');
    expect(shortUrl('https://example.test/hooks')).toBe('https://example.test/hooks');
  });
});

describe('a captured text', () => {
  test('shows the characters that a browser would hide or reorder', () => {
    expect(showInvisible('a\0b\x1b[31m')).toBe('a␀b␛[31m');
    expect(showInvisible('\u202egnp.exe\ufeff\u200b')).toBe('⟨U+202E⟩gnp.exe⟨U+FEFF⟩⟨U+200B⟩');
    expect(showInvisible('\x7f\x85\u2028')).toBe('⟨U+007F⟩⟨U+0085⟩⟨U+2028⟩');
  });

  test('is otherwise unchanged', () => {
    const text = '{\n\t"name": "Ærøskøbing ✓ 漢字 🙂 <img onerror=1>"\n}';
    expect(showInvisible(text)).toBe(text);
  });
});

describe('the URL', () => {
  test('holds the search and the open delivery', () => {
    const route = { query: 'status:failed,retrying event:transaction.* a&b=c', delivery: 'd-1' };
    expect(formatRoute(route)).toBe('/?q=status:failed,retrying+event:transaction.*+a%26b%3Dc&delivery=d-1');
    expect(parseRoute(formatRoute(route).slice(1))).toEqual(route);
  });

  test('is / without a search and an open delivery', () => {
    expect(formatRoute({ query: '', delivery: undefined })).toBe('/');
    expect(parseRoute('')).toEqual({ query: '', delivery: undefined });
  });
});

describe('a fault', () => {
  const fault: Fault = {
    ...{ id: 'f1', kind: 'tamper_body', event: null, webhook: null },
    ...{ times: 1, remaining: 1, probability: 1, delayMs: null },
  };
  const webhook = {
    ...{ id: 'w1', url: 'http://localhost:3000/hooks', events: ['*'], paused: false },
    ...{ created_at: '', updated_at: '' },
  };

  test('has a text: what, to which deliveries, how often', () => {
    expect(faultText(fault, [])).toBe('tamper_body, once');
    const narrow: Fault = { ...fault, event: 'transaction.*', webhook: 'w1', probability: 0.25 };
    expect(faultText({ ...narrow, remaining: 'always' }, [webhook])).toBe(
      'tamper_body on transaction.* to localhost:3000/hooks, 25% of attempts, until removed',
    );
    expect(faultText({ ...fault, webhook: 'w1', remaining: 3 }, [])).toBe(
      'tamper_body to a deleted webhook, 3 more times',
    );
  });

  test('of every kind has a line that says what it does', () => {
    expect(faultKinds.filter((kind) => !faultEffect(kind))).toEqual([]);
    expect(faultEffect('__proto__')).toBeUndefined();
  });

  test('that affects the signature is explained beside the signature', () => {
    const silent = faultKinds.filter((kind) => !signatureEffect(kind));
    expect(silent).toEqual(['duplicate', 'reorder', 'delay', 'slow_body', 'drop']);
    expect(signatureEffect(null)).toBeUndefined();
  });
});

describe('the About dialog', () => {
  const settings: Settings = {
    ...{ now: '', clock: 'real', retry: [2_000, 300_000], timeout_ms: 10_000 },
    ...{ signature_header: 'X-PAY', sandbox_signing: 'sandbox-key' },
    ...{ fault_kinds: [], state: false, state_error: null },
  };
  const said = (change: Partial<Settings> = {}) => JSON.stringify(documentedRows({ ...settings, ...change }));

  test('has the settings of this simulator', () => {
    expect(said()).toContain('The header is sent as X-PAY.');
    expect(said()).toContain('signed with the sandbox key');
    expect(said()).toContain('Pauses after a failure: 2 s, 5 m.');
    expect(said()).toContain('no answer within 10 s');
    expect(said({ retry: [] })).toContain('Pauses after a failure: none.');
    expect(said({ sandbox_signing: 'private-key' })).toContain('signed with the private key too');
  });

  test('says about the header what docs/what-is-documented.md says, whatever this simulator sends', () => {
    const [signature] = documentedRows(settings).filter(({ subject }) => subject === 'Signature');
    const name = 'with a neutral word in place of the service name';
    expect(signature?.documented).toContain(`X-SERVICE-SIGNATURE, ${name}`);
    expect(signature?.documented).not.toContain('X-PAY');
    const page = readFileSync(join(__dirname, '../../../docs/what-is-documented.md'), 'utf8');
    expect(page.replaceAll('\n  ', ' ')).toContain(`\`X-SERVICE-SIGNATURE\`, ${name}`);
  });

  test('names every subject once, with both sides', () => {
    const rows = documentedRows(settings);
    expect(new Set(rows.map(({ subject }) => subject)).size).toBe(rows.length);
    expect(rows.filter(({ documented, ours }) => !documented || !ours)).toEqual([]);
  });
});
