// `learn` from files and from standard input. From dead letters: dead-letters.test.ts.
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { fileWith, folder } from './files.js';
import { failed, jsonLines, runCli } from './run-cli.js';

const refund = fixtures.event('refund.succeeded', { refund: { id: 'r-1', amount: 12 } });
const payout = fixtures.event('payout.sent', { payout: { iban: 'DE02120300000000202051' } });

describe('learn', () => {
  const [one, other] = [JSON.stringify(refund), JSON.stringify(payout)];
  test.each([
    ['one body', JSON.stringify(refund, null, 2), ['refund.succeeded']],
    ['a list of bodies', `[${one},${other}]`, ['payout.sent', 'refund.succeeded']],
    ['one on each line', `\ufeff${one}\r\n\n${other}\n`, ['payout.sent', 'refund.succeeded']],
  ])('reads %s, from a file and from standard input', async (_, text, names) => {
    const fromFile = await runCli(['learn', '--file', fileWith(text), '--json']);
    expect(await runCli(['learn', '--json'], { stdin: text })).toEqual(fromFile);
    expect(fromFile).toMatchObject({ code: 0, stderr: '' });
    expect(jsonLines(fromFile).map(({ event }) => event)).toEqual(names);
    expect(fromFile.stdout).not.toContain('DE02');
  });

  test('reads several files, and only the events that are asked for', async () => {
    const files = [refund, payout].flatMap((body) => ['--file', fileWith(JSON.stringify(body))]);
    const { stdout } = await runCli(['learn', 'payout.*', ...files]);
    expect(stdout).toContain('export const payoutSentPayload = z.looseObject({');
    expect(stdout).toContain('  "payout.sent": payoutSentPayload,');
    expect(stdout).not.toContain('refund');
  });

  test('writes index.ts beside the file of an event that is called index', async () => {
    const out = join(folder, 'index-event');
    const stdin = JSON.stringify([fixtures.event('index.-', { id: 'i-1' })]);
    await runCli(['learn', '--out', out], { stdin });
    expect(readdirSync(out).sort()).toEqual(['index.ts', 'index2.ts']);
    expect(readFileSync(join(out, 'index2.ts'), 'utf8')).toContain('export const index2Payload = ');
    expect(readFileSync(join(out, 'index.ts'), 'utf8')).toContain("from './index2.js';");
  });

  test('writes a file for each event, and overwrites no file', async () => {
    const out = join(folder, 'new/events');
    const learn = () => runCli(['learn', '--out', out], { stdin: JSON.stringify([refund, payout]) });
    const written = (name: string) => readFileSync(join(out, name), 'utf8');
    const names = ['payout-sent.ts', 'refund-succeeded.ts', 'index.ts'];
    const stdout = `${names.map((name) => join(out, name)).join('\n')}\n`;
    expect(await learn()).toMatchObject({ code: 0, stdout });
    expect(readdirSync(out).sort()).toEqual([...names].sort());
    expect(written('index.ts')).toBe(`import { payoutSentPayload } from './payout-sent.js';
import { refundSucceededPayload } from './refund-succeeded.js';

/** For \`receiver({ events })\`. */
export const events = {
  "payout.sent": payoutSentPayload,
  "refund.succeeded": refundSucceededPayload,
};
`);
    writeFileSync(join(out, 'payout-sent.ts'), 'mine');
    expect(await learn()).toEqual(failed(2, 'payout-sent.ts" already exists'));
    expect(written('payout-sent.ts')).toBe('mine');
  });

  test('writes nothing when one of its files exists', async () => {
    const out = mkdtempSync(join(folder, 'half-'));
    writeFileSync(join(out, 'index.ts'), 'mine');
    const { code } = await runCli(['learn', '--out', out], { stdin: JSON.stringify(refund) });
    expect(code).toBe(2);
    expect(readdirSync(out)).toEqual(['index.ts']);
  });

  test('says how many bodies are no event', async () => {
    const run = await runCli(['learn'], { stdin: JSON.stringify([refund, { id: 1 }, null]) });
    expect(run).toMatchObject({ code: 0, stderr: 'Skipped 2 bodies that are not events.\n' });
  });

  test.each<[string[], string, number, RegExp]>([
    [[], '', 1, /^No body is an event\.\n$/],
    [['payout.*'], JSON.stringify(refund), 1, /^No body is an event of payout\.\*\.\n$/],
    [[], '{"id":"canary"', 2, /^Standard input is not JSON \(line 1\)/],
    [['refund'], '', 2, /^EVENT "refund" is not an event name/],
    [['--file', '/nowhere'], '', 2, /^--file "\/nowhere" cannot be read \(ENOENT\)/],
    [['--since', '7d'], '', 2, /^--since needs --page/],
    [['--limit', '7'], '', 2, /^--limit needs --page/],
    [['--token-file', 'x'], '', 2, /^--token-file needs --page/],
    [['--page', 'https://x', '--file', 'y'], '', 2, /^Pass --page or --file, not both/],
    [['--page', 'https://x', '--limit', '0'], '', 2, /^--limit "0" is not an integer/],
    [['--page', 'https://x', '--since', 'soon'], '', 2, /^--since "soon" is not a duration/],
  ])('%j fails', async (args, stdin, code, message) => {
    const run = await runCli(['learn', ...args], { stdin });
    expect(run).toEqual(failed(code, message));
    expect(run.stderr).not.toContain('canary');
  });
});
