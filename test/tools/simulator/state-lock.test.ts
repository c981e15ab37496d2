// One state file, one simulator: who holds the lock, and when a stale lock is replaced.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { testOnUnix } from '../../setup/platform.js';
import { call, endpoint, simulator, startError, stateFile } from './world.js';

/** A lock as a process leaves it that was killed. */
function leaveLock(state: string, holder: object): void {
  writeFileSync(`${state}.lock`, JSON.stringify(holder));
}

const lockOf = (state: string) => JSON.parse(readFileSync(`${state}.lock`, 'utf8'));

const since = '2026-01-02T03:04:05.678Z';

/** The holder of a lock whose process has ended. */
function stale() {
  const { pid } = spawnSync(process.execPath, ['--version']);
  return { pid, host: hostname(), since };
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
    expect(lockOf(state)).toMatchObject({ pid: 1, since });
  });

  test.each(['{', '', '{}'])('with the lock %j is refused, and the lock is left alone', async (text) => {
    const state = stateFile();
    writeFileSync(`${state}.lock`, text);
    expect((await startError({ state })).message).toMatch(
      `Its lock ${state}.lock cannot be read. If no simulator uses the file, delete the lock.`,
    );
    expect(readFileSync(`${state}.lock`, 'utf8')).toBe(text);
  });

  testOnUnix('is shown by the lock, which only its owner may read', async () => {
    const state = stateFile();
    await simulator({ state });
    expect(statSync(`${state}.lock`).mode & 0o077).toBe(0);
    expect(lockOf(state)).toMatchObject({ pid: process.pid, host: hostname() });
  });
});

describe('a stale lock', () => {
  // A container that was killed starts again as process 1.
  test('of an earlier process with the PID of this one is replaced', async () => {
    const state = stateFile();
    leaveLock(state, { ...stale(), pid: process.pid });
    await simulator({ state });
    expect(lockOf(state).since).not.toBe(since);
  });

  test('of a process that has ended is replaced, and nothing of it is left', async () => {
    const state = stateFile();
    leaveLock(state, stale());
    await simulator({ state });
    expect(lockOf(state)).toMatchObject({ pid: process.pid });
    expect(readdirSync(dirname(state)).sort()).toEqual(['state.json', 'state.json.lock']);
  });
});
