// The state file: everything outlives a restart, also a violent one, and no file that is not understood is touched.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, rename, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { Simulator, SimulatorOptions } from 'payment-webhooks/simulator';
import { captureLog } from '../../setup/captured-log.js';
import { compile } from '../../setup/compiled.js';
import { testOnUnix } from '../../setup/platform.js';
import { until } from '../../setup/waiting.js';
import { afterwards, basic, call, endpoint, post, simulator, startError, stateFile } from './world.js';

const NOWHERE = { url: 'http://127.0.0.1:1/' };

/** What the first simulator left in its state file, found by the next one. */
async function restart(
  leave: (first: Simulator) => Promise<unknown>,
  options: SimulatorOptions = {},
  next = options,
): Promise<Simulator> {
  const state = stateFile();
  const first = await simulator({ ...options, state });
  await leave(first);
  await first.close();
  return simulator({ ...next, state });
}

describe('a restart', () => {
  test('restores everything, and pending retries go on', async () => {
    const target = await endpoint(500, 500, 200);
    let before: unknown[] = [];
    const service = await restart(async (first) => {
      await first.webhooks.create({ url: target.url, events: ['transaction.*'] });
      await first.trigger('transaction.paid', { payload: { customer: { name: '東京' } } });
      first.faults.add({ kind: 'wrong_key', event: 'a.b', times: 2 });
      first.rotateKey({ privateKey: 'pri_sim_second' });
      await first.advance('2s');
      before = [first.deliveries(), first.webhooks.list()];
    });
    expect([service.deliveries(), service.webhooks.list()]).toEqual(before);
    expect(service.faults.list()).toMatchObject([{ kind: 'wrong_key', event: 'a.b', remaining: 2 }]);
    expect(service.privateKey).toBe('pri_sim_second');
    const attempts = [{ number: 1 }, { number: 2 }];
    expect(service.deliveries()).toMatchObject([{ status: 'retrying', attempts }]);
    await service.advance('5s');
    const delivered = { status: 'delivered', attempts: [...attempts, { number: 3 }] };
    expect(service.deliveries()).toMatchObject([delivered]);
    const bodies = target.received.map(({ body }) => body);
    expect(bodies).toEqual(Array(3).fill(bodies[0]));
  });

  test('with another key given takes that key', async () => {
    const rotate = async (first: Simulator) => first.rotateKey({ privateKey: 'pri_sim_rotated' });
    const service = await restart(rotate, {}, { privateKey: 'pri_sim_given' });
    expect(service.privateKey).toBe('pri_sim_given');
  });

  test('with a seed repeats no id', async () => {
    const service = await restart((first) => first.webhooks.create(NOWHERE), { seed: 1 });
    await service.webhooks.create(NOWHERE);
    expect(new Set(service.webhooks.list().map(({ id }) => id)).size).toBe(2);
  });

  test('makes an attempt that was in flight again at once', async () => {
    const target = await endpoint(() => {}, 200);
    const service = await restart(async (first) => {
      await first.webhooks.create({ url: target.url });
      void first.trigger('transaction.paid');
      await until(() => target.received.length > 0);
    });
    await service.settled();
    expect(service.deliveries()).toMatchObject([{ status: 'delivered', attempts: [{ number: 1 }] }]);
  });

  test('keeps a delayed delivery and its fault', async () => {
    const target = await endpoint();
    const service = await restart(async (first) => {
      await first.webhooks.create({ url: target.url });
      await first.trigger('transaction.paid', {}, { fault: { kind: 'delay', delayMs: 1_000 } });
    });
    await service.advance('1s');
    expect(service.deliveries()).toMatchObject([{ status: 'delivered', attempts: [{ fault: 'delay' }] }]);
  });

  test('without the earlier allowTargets connects to no public address', async () => {
    let id = '';
    // An address for documentation: nothing answers there, and nothing is sent while the webhook is paused.
    const pause = async (first: Simulator) => {
      ({ id } = await first.webhooks.create({ url: 'http://203.0.113.9/' }));
      await first.webhooks.update(id, { paused: true });
    };
    const service = await restart(pause, { allowTargets: ['203.0.113.9'] }, { retry: 'off' });
    await service.webhooks.update(id, { paused: false });
    const [delivery] = await service.trigger('transaction.paid');
    expect(delivery?.attempts[0]?.error?.code).toBe('TARGET_REFUSED');
  });

  test('after a reset restores nothing', async () => {
    const service = await restart(async (first) => {
      await first.webhooks.create(NOWHERE);
      await first.reset();
    });
    expect(service.webhooks.list()).toEqual([]);
  });

  test('that fails sends nothing, though a retry is due', async () => {
    const state = stateFile();
    let answer = 500;
    const target = await endpoint((_, response) => response.writeHead(answer).end());
    const options = { state, clock: 'real', retry: Array(30).fill('300ms') } as const;
    const first = await simulator(options);
    await first.webhooks.create({ url: target.url });
    await first.trigger('transaction.paid');
    await first.close();
    const deliveries = () => target.received.filter(({ method }) => method === 'POST').length;
    const before = deliveries();
    await pause(350);
    const { message } = await startError({ ...options, port: target.port });
    expect(message).toContain('is taken by another program');
    await pause(600);
    expect(deliveries()).toBe(before);
    answer = 200;
    const second = await simulator(options);
    await until(() => second.deliveries()[0]?.status === 'delivered');
  });
});

test('what an answer promises is on disk before the answer', async () => {
  const state = stateFile();
  const service = await simulator({ state });
  const target = await endpoint();
  const onDisk = () => readFileSync(state, 'utf8');
  const headers = basic(service.privateKey);
  const created = await post(`${service.baseUrl}/api/v2/webhooks`, { url: target.url }, headers);
  expect(onDisk()).toContain(created.json.data.id);
  const body = { event_name: 'transaction.paid', fault: { kind: 'delay', delayMs: 1_000 } };
  const triggered = await post(`${service.baseUrl}/_sim/events`, body);
  expect(onDisk()).toContain(triggered.json.data.events[0].id);
  const fault = await post(`${service.baseUrl}/_sim/faults`, { kind: 'drop' });
  expect(onDisk()).toContain(fault.json.data.id);
});

describe('a file that cannot be used is left as it is', () => {
  async function whole(): Promise<string> {
    const state = stateFile();
    const service = await simulator({ state });
    await service.webhooks.create(NOWHERE);
    await service.trigger('transaction.paid');
    await service.close();
    return state;
  }

  const swap = (from: string, to: string) => (text: string) => text.replace(from, to);
  test.each<[string, (text: string) => string, RegExp]>([
    ['truncated', (text) => text.slice(0, text.length / 2), /not complete JSON: it may be truncated/],
    ['empty', () => '', /not complete JSON/],
    ['of version 2', swap('"version":1', '"version":2'), /has version 2, and this simulator reads version 1/],
    ['of something else', () => '{"a":1}', /is not a state file of the simulator: version is invalid/],
    ['null', () => 'null', /is not a state file of the simulator/],
    ['changed by hand', swap('"paused":false', '"paused":"no"'), /webhooks\.0\.paused is invalid/],
    [
      'with a delivery of an event that it does not hold',
      (text) => text.replace('"deliveries":[{', '"deliveries":[{"event":7,').replace('"event":0,', ''),
      /deliveries\.0\.event is invalid/,
    ],
  ])('%s', async (_, damage, message) => {
    const state = await whole();
    const damaged = damage(readFileSync(state, 'utf8'));
    writeFileSync(state, damaged);
    const error = await startError({ state });
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/was not changed\. Move it, or choose/);
    expect(readFileSync(state, 'utf8')).toBe(damaged);
    expect(readdirSync(dirname(state))).toEqual(['state.json']);
  });

  test('a folder in its place', async () => {
    const folder = join(stateFile(), '..');
    expect((await startError({ state: folder })).message).toMatch(/is not a regular file/);
  });

  testOnUnix('a symbolic link, wherever it leads, with the path that it leads to', async () => {
    const state = await whole();
    const content = readFileSync(state, 'utf8');
    const [link, dangling] = [join(dirname(state), 'link'), join(dirname(state), 'dangling')];
    await symlink(state, link);
    await symlink('missing.json', dangling);
    for (const [path, target] of Object.entries({ [link]: state, [dangling]: 'missing.json' })) {
      const message = `The state file ${path} is a symbolic link to ${target}. Pass the path of the file itself.`;
      expect((await startError({ state: path })).message).toMatch(message);
      expect(lstatSync(path).isSymbolicLink()).toBe(true);
    }
    expect(readFileSync(state, 'utf8')).toBe(content);
    expect(readdirSync(dirname(state)).sort()).toEqual(['dangling', 'link', 'state.json']);
  });

  test('a folder that is not writable', async () => {
    const state = join(stateFile(), 'missing', 'state.json');
    expect((await startError({ state })).message).toMatch(/cannot be (read|written) \((ENOENT|ENOTDIR)\)/);
  });

  test('a failed write shows in readyz, is logged once, and is retried until it succeeds', async () => {
    const state = stateFile();
    const log = captureLog();
    const errors = () => log.lines.flatMap(({ level, code }) => (level === 50 ? [code] : []));
    const service = await simulator({ state, logger: log.logger });
    const stateError = async () => (await call(`${service.baseUrl}/_sim/readyz`)).json.state_error;
    const moved = join(dirname(stateFile()), 'moved');
    await rename(dirname(state), moved);
    const content = readFileSync(join(moved, 'state.json'), 'utf8');
    expect((await post(`${service.baseUrl}/_sim/webhooks`, NOWHERE)).status).toBe(201);
    const [delivery] = await service.trigger('transaction.paid');
    await service.advance('2s');
    expect([await stateError(), errors()]).toEqual(['ENOENT', ['ENOENT']]);
    expect(readFileSync(join(moved, 'state.json'), 'utf8')).toBe(content);
    await rename(moved, dirname(state));
    // Without a further change: it retries by itself.
    await until(() => readFileSync(state, 'utf8').includes(String(delivery?.event_id)));
    await until(async () => (await stateError()) === null);
    expect(errors()).toEqual(['ENOENT']);
  });
});

describe('the file is written', () => {
  testOnUnix('readable for its owner only, whatever it was before', async () => {
    const state = stateFile();
    writeFileSync(`${state}.tmp`, '');
    await chmod(`${state}.tmp`, 0o666);
    const first = await simulator({ state });
    await first.close();
    expect(lstatSync(state).mode & 0o777).toBe(0o600);
    await chmod(state, 0o666);
    const second = await simulator({ state });
    expect(lstatSync(state).mode & 0o777).toBe(0o600);
    await second.close();
  });

  testOnUnix('without touching files that are already there', async () => {
    const state = stateFile();
    const victim = join(dirname(state), 'victim');
    writeFileSync(victim, 'untouched');
    await symlink(victim, `${state}.tmp`);
    const service = await simulator({ state });
    await service.webhooks.create(NOWHERE);
    await service.close();
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    expect(lstatSync(state).isFile()).toBe(true);
    expect(lstatSync(`${state}.tmp`).isSymbolicLink()).toBe(true);
  });

  test('and only temporary files of a killed process are removed', async () => {
    const state = stateFile();
    const others = ['state.json.tmp', 'state.json.tmp-mine', 'other.json.tmp-0123456789abcdef'];
    for (const name of [...others, 'state.json.tmp-0123456789abcdef'])
      writeFileSync(join(dirname(state), name), 'half');
    const service = await simulator({ state });
    await service.close();
    expect(readdirSync(dirname(state)).sort()).toEqual([...others, 'state.json'].sort());
  });
});

// `npm run test:state-kills` does it fifty times, with the program as it is shipped.
describe('kill -9', () => {
  async function run(program: string, state: string): Promise<{ child: ChildProcess; baseUrl: string }> {
    const child = spawn(process.execPath, [program, state], { stdio: ['ignore', 'pipe', 'inherit'] });
    const baseUrl = await new Promise<string>((resolve, reject) => {
      child.stdout?.once('data', (line: Buffer) => resolve(String(line).trim()));
      child.once('exit', (code) => reject(new Error(`The simulator ended with ${code}.`)));
    });
    return { child, baseUrl };
  }

  test('in the middle of retries loses nothing that was accepted', async () => {
    const state = stateFile();
    const compiled = compile(['test/tools/simulator/simulate.ts']);
    afterwards(async () => compiled.remove());
    const program = compiled.of('test/tools/simulator/simulate.ts');
    let answer = 500;
    const target = await endpoint((_, response) => response.writeHead(answer).end());
    const accepted: string[] = [];
    let { child, baseUrl } = await run(program, state);
    afterwards(async () => child.kill('SIGKILL'));
    await post(`${baseUrl}/_sim/webhooks`, { url: target.url });
    for (let kill = 0; kill < 3; kill += 1) {
      const { json } = await post(`${baseUrl}/_sim/events`, { event_name: 'transaction.paid', count: 3 });
      for (const { id } of json.data.events) accepted.push(id);
      await pause(Math.random() * 120);
      child.kill('SIGKILL');
      await once(child, 'exit');
      ({ child, baseUrl } = await run(program, state));
    }
    answer = 200;
    const before = target.received.length;
    const pending = async () =>
      (await call(`${baseUrl}/_sim/deliveries?status=pending,in_flight,retrying`)).json.total;
    await until(async () => (await pending()) === 0, 60_000);
    const { json } = await call(`${baseUrl}/_sim/deliveries?status=delivered`);
    const delivered = json.data.map(({ event_id }: { event_id: string }) => event_id);
    const arrived = target.received.map(({ body }) => JSON.parse(String(body)).id);
    for (const ids of [delivered, arrived]) expect(ids).toEqual(expect.arrayContaining(accepted));
    expect(target.received.length).toBeGreaterThan(before);
  }, 240_000);
});
