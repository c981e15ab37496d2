// One state file, one simulator: who holds the lock, and who may take it over.
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { compile } from '../../setup/compiled.js';
import { testOnLinux, testOnUnix } from '../../setup/platform.js';
import { afterwards, call, endpoint, simulator, startError, stateFile } from './world.js';

/** A lock as a process leaves it that was killed. */
function leaveLock(state: string, holder: object): void {
  writeFileSync(`${state}.lock`, JSON.stringify({ id: ID, ...holder }));
}

const lockOf = (state: string) => JSON.parse(readFileSync(`${state}.lock`, 'utf8'));

const ID = '0123456789abcdef';
const since = '2026-01-02T03:04:05.678Z';

/** The holder of a lock whose process has ended. */
function stale() {
  const { pid } = spawnSync(process.execPath, ['--version']);
  return { pid, host: hostname(), since, start: null };
}

describe('a state file in use', () => {
  test('is refused to a second simulator, with who has it, since when, and what to do', async () => {
    const state = stateFile();
    const service = await simulator({ state });
    const { started_at } = (await call(`${service.baseUrl}/_sim/readyz`)).json;
    const { name, message } = await startError({ state });
    expect(name).toBe('ConfigurationError');
    expect(message).toContain(
      `The state file ${state} is in use by process ${process.pid} on the host "${hostname()}", since ${started_at.slice(0, 13)}`,
    );
    expect(message).toContain('Stop that simulator, or choose another file.');
    expect(message).toContain(`delete ${state}.lock`);
  });

  test('is refused whatever path leads to it', async () => {
    const state = stateFile();
    await simulator({ state });
    for (const way of ['.', `../${basename(dirname(state))}`]) {
      expect((await startError({ state: `${dirname(state)}/${way}/state.json` })).message).toMatch('in use');
    }
  });

  test('is free again after close(), and nothing of the lock is left', async () => {
    const state = stateFile();
    const service = await simulator({ state });
    expect(readdirSync(dirname(state)).sort()).toEqual(['state.json', 'state.json.lock']);
    await service.close();
    expect(readdirSync(dirname(state))).toEqual(['state.json']);
    await simulator({ state });
  });

  test('is free again after a start that failed', async () => {
    const state = stateFile();
    const { port } = await endpoint();
    expect((await startError({ port, state })).message).toMatch('is taken by');
    expect(existsSync(`${state}.lock`)).toBe(false);
    writeFileSync(state, 'no JSON');
    expect((await startError({ state })).message).toMatch('not complete JSON');
    expect(existsSync(`${state}.lock`)).toBe(false);
  });

  test('stays in use by a process of another host, which cannot be asked whether it runs', async () => {
    const state = stateFile();
    leaveLock(state, { ...stale(), pid: 1, host: 'another-host' });
    expect((await startError({ state })).message).toMatch(
      /in use by process 1 on the host "another-host", since 2026-01-02T03:04:05\.678Z/,
    );
    expect(readFileSync(`${state}.lock`, 'utf8')).toContain(ID);
  });

  test.each(['{', '', '{}'])('with the lock %j is refused, and the lock is left alone', async (text) => {
    const state = stateFile();
    writeFileSync(`${state}.lock`, text);
    expect((await startError({ state })).message).toMatch(
      `Its lock ${state}.lock cannot be read. If no simulator uses the file, delete the lock.`,
    );
    expect(readFileSync(`${state}.lock`, 'utf8')).toBe(text);
  });

  test('by a process that has created its lock and not written it yet is refused once the holder is known', async () => {
    const state = stateFile();
    writeFileSync(`${state}.lock`, '');
    const starting = startError({ state });
    await pause(200);
    leaveLock(state, { pid: process.pid, host: hostname(), since, start: null });
    expect((await starting).message).toMatch(`in use by process ${process.pid}`);
  });

  testOnUnix('is shown by the lock, which only its owner may read', async () => {
    const state = stateFile();
    await simulator({ state });
    expect(statSync(`${state}.lock`).mode & 0o077).toBe(0);
    expect(lockOf(state)).toMatchObject({ pid: process.pid, host: hostname() });
  });
});

describe('a stale lock', () => {
  // Only Linux says when a process was started.
  testOnLinux('of a process whose number another one has by now is taken over', async () => {
    const state = stateFile();
    leaveLock(state, { pid: process.pid, host: hostname(), since, start: 'another boot 1' });
    await simulator({ state });
  });

  test.each([
    ['of a process that has ended', []],
    ['whose takeover was killed too', [ID, 'e'.repeat(16)]],
  ])('%s is taken over, and nothing of it is left', async (_, takeovers) => {
    const state = stateFile();
    leaveLock(state, stale());
    for (const id of takeovers)
      writeFileSync(`${state}.lock.${id}`, JSON.stringify({ id: 'f'.repeat(16), ...stale() }));
    await simulator({ state });
    expect(lockOf(state)).toMatchObject({ pid: process.pid });
    expect(readdirSync(dirname(state)).sort()).toEqual(['state.json', 'state.json.lock']);
  });

  test('is taken over by one of several processes at once, and the others are refused', async () => {
    const [contenders, rounds] = [4, 50];
    const program = 'test/tools/simulator/lock-contender.ts';
    const compiled = compile([program]);
    afterwards(async () => compiled.remove());
    const folder = dirname(stateFile());
    const holder = stale();
    const states = Array.from({ length: rounds }, (_, round) => join(folder, `${round}.json`));
    for (const state of states) leaveLock(state, holder);
    const children: ChildProcess[] = Array.from({ length: contenders }, () =>
      fork(compiled.of(program), { execArgv: [] }),
    );
    afterwards(async () => children.forEach((child) => void child.kill('SIGKILL')));
    await Promise.all(children.map((child) => once(child, 'message')));
    // All begin each round at the same instant.
    const begin = Date.now() + 200;
    for (const child of children) child.send({ states, begin, everyMs: 20 });
    const outcomes: string[][] = await Promise.all(
      children.map(async (child) => (await once(child, 'message'))[0]),
    );
    const refused = Array(contenders - 1).fill(expect.stringContaining('in use by process'));
    for (const round of states.keys()) {
      const all = outcomes.map((one) => one[round]);
      expect(all.filter((outcome) => outcome !== 'taken')).toEqual(refused);
    }
  }, 60_000);
});
