// The state file: everything outlives a restart, also a violent one, and no file that is not understood is touched.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { startSimulator } from 'payment-webhooks/simulator';
import { testOnUnix } from '../../setup/platform.js';
import { until } from '../../setup/waiting.js';
import { afterwards, basic, call, endpoint, simulator, startError } from './world.js';

function stateFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'simulator-'));
  afterwards(async () => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'state.json');
}

describe('a restart', () => {
  test('restores everything, and pending retries go on', async () => {
    const state = stateFile();
    const target = await endpoint(500, 500, 200);
    const first = await startSimulator({ port: 0, state });
    const webhook = await first.webhooks.create({ url: target.url, events: ['transaction.*'] });
    await first.trigger('transaction.paid', { payload: { customer: { name: '東京' } } });
    first.faults.add({ kind: 'wrong_key', event: 'a.b', times: 2 });
    first.rotateKey({ privateKey: 'pri_sim_second' });
    await first.advance('2s');
    const before = first.deliveries();
    await first.close();

    const second = await simulator({ state });
    expect(second.deliveries()).toEqual(before);
    expect(second.webhooks.list()).toEqual([webhook]);
    expect(second.faults.list()).toMatchObject([{ kind: 'wrong_key', event: 'a.b', remaining: 2 }]);
    expect(second.privateKey).toBe('pri_sim_second');
    expect(before[0]).toMatchObject({ status: 'retrying', attempts: [{ number: 1 }, { number: 2 }] });
    await second.advance('5s');
    expect(second.deliveries()[0]).toMatchObject({ status: 'delivered', attempts: [{}, {}, { number: 3 }] });
    expect(target.received.map(({ body }) => body.toString('hex'))).toEqual(
      Array(3).fill(target.received[0]?.body.toString('hex')),
    );
  });

  test('with another key given takes that key', async () => {
    const state = stateFile();
    const first = await startSimulator({ port: 0, state });
    first.rotateKey({ privateKey: 'pri_sim_rotated' });
    await first.close();
    const second = await simulator({ state, privateKey: 'pri_sim_given' });
    expect(second.privateKey).toBe('pri_sim_given');
  });

  test('with a seed repeats no id', async () => {
    const state = stateFile();
    const ids: string[] = [];
    for (let run = 0; run < 2; run += 1) {
      const service = await startSimulator({ port: 0, state, seed: 1 });
      ids.push((await service.webhooks.create({ url: 'http://127.0.0.1:1/' })).id);
      await service.close();
    }
    expect(new Set(ids).size).toBe(2);
  });

  test('makes an attempt that was in flight again at once', async () => {
    const state = stateFile();
    const target = await endpoint(() => {}, 200);
    const first = await startSimulator({ port: 0, state });
    await first.webhooks.create({ url: target.url });
    void first.trigger('transaction.paid');
    await until(() => target.received.length > 0);
    await first.close();
    const second = await simulator({ state });
    await second.settled();
    expect(second.deliveries()).toMatchObject([{ status: 'delivered', attempts: [{ number: 1 }] }]);
  });

  test('keeps a delayed delivery and its fault', async () => {
    const state = stateFile();
    const target = await endpoint();
    const first = await startSimulator({ port: 0, state });
    await first.webhooks.create({ url: target.url });
    await first.trigger('transaction.paid', {}, { fault: { kind: 'delay', delayMs: 1_000 } });
    await first.close();
    const second = await simulator({ state });
    await second.advance('1s');
    expect(second.deliveries()).toMatchObject([{ status: 'delivered', attempts: [{ fault: 'delay' }] }]);
  });

  test('that fails sends nothing, though a retry is due', async () => {
    const state = stateFile();
    let answer = 500;
    const target = await endpoint((_, response) => response.writeHead(answer).end());
    const options = { state, clock: 'real', retry: Array(30).fill('300ms') } as const;
    const first = await startSimulator({ port: 0, ...options });
    await first.webhooks.create({ url: target.url });
    await first.trigger('transaction.paid');
    await first.close();
    const deliveries = () => target.received.filter(({ method }) => method === 'POST').length;
    const before = deliveries();
    await new Promise((resolve) => setTimeout(resolve, 350));
    const { message } = await startError({ ...options, port: target.port });
    expect(message).toContain('is taken by another program');
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(deliveries()).toBe(before);
    answer = 200;
    const second = await simulator(options);
    await until(() => second.deliveries()[0]?.status === 'delivered');
  });

  test('without the earlier allowTargets connects to no public address', async () => {
    const state = stateFile();
    // An address for documentation: nothing answers there, and nothing is sent while the webhook is paused.
    const first = await startSimulator({ port: 0, state, allowTargets: ['203.0.113.9'] });
    const { id } = await first.webhooks.create({ url: 'http://203.0.113.9/' });
    await first.webhooks.update(id, { paused: true });
    await first.close();
    const second = await simulator({ state, retry: 'off' });
    await second.webhooks.update(id, { paused: false });
    const [delivery] = await second.trigger('transaction.paid');
    expect(delivery?.attempts[0]?.error?.code).toBe('TARGET_REFUSED');
  });

  test('after a reset restores nothing', async () => {
    const state = stateFile();
    const first = await startSimulator({ port: 0, state });
    await first.webhooks.create({ url: 'http://127.0.0.1:1/' });
    await first.reset();
    await first.close();
    expect((await simulator({ state })).webhooks.list()).toEqual([]);
  });
});

test('what an answer promises is on disk before the answer', async () => {
  const state = stateFile();
  const service = await simulator({ state });
  const target = await endpoint();
  const onDisk = () => readFileSync(state, 'utf8');
  const headers = basic(service.privateKey);
  const created = await call(`${service.baseUrl}/api/v2/webhooks`, {
    method: 'POST',
    body: { url: target.url },
    headers,
  });
  expect(onDisk()).toContain(created.json.data.id);
  const body = { event_name: 'transaction.paid', fault: { kind: 'delay', delayMs: 1_000 } };
  const triggered = await call(`${service.baseUrl}/_sim/events`, { method: 'POST', body });
  expect(onDisk()).toContain(triggered.json.data.events[0].id);
  const fault = await call(`${service.baseUrl}/_sim/faults`, { method: 'POST', body: { kind: 'drop' } });
  expect(onDisk()).toContain(fault.json.data.id);
});

describe('a file that cannot be used is left as it is', () => {
  async function whole(): Promise<string> {
    const state = stateFile();
    const service = await startSimulator({ port: 0, state });
    await service.webhooks.create({ url: 'http://127.0.0.1:1/' });
    await service.trigger('transaction.paid');
    await service.close();
    return state;
  }

  test.each<[string, (text: string) => string, RegExp]>([
    ['truncated', (text) => text.slice(0, text.length / 2), /not complete JSON: it may be truncated/],
    ['empty', () => '', /not complete JSON/],
    [
      'of another version',
      (text) => text.replace('"version":1', '"version":2'),
      /has version 2, and this simulator reads version 1/,
    ],
    [
      'of something else',
      () => '{"name":"my-app"}',
      /is not a state file of the simulator: version is invalid/,
    ],
    ['null', () => 'null', /is not a state file of the simulator/],
    [
      'changed by hand',
      (text) => text.replace('"paused":false', '"paused":"no"'),
      /webhooks\.0\.paused is invalid/,
    ],
    [
      'with a delivery of an event that it does not hold',
      (text) => text.replace('"deliveries":[{', '"deliveries":[{"event":7,').replace('"event":0,', ''),
      /deliveries\.0\.event is invalid/,
    ],
  ])('%s', async (_, damage, message) => {
    const state = await whole();
    const damaged = damage(readFileSync(state, 'utf8'));
    writeFileSync(state, damaged);
    expect((await startError({ state })).message).toMatch(message);
    expect((await startError({ state })).message).toMatch(/left as it is: move it, or choose/);
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
    symlinkSync(state, link);
    symlinkSync('missing.json', dangling);
    for (const [path, target] of [
      [link, state],
      [dangling, 'missing.json'],
    ]) {
      expect((await startError({ state: String(path) })).message).toMatch(
        `The state file ${path} is a symbolic link to ${target}. Give the path of the file itself.`,
      );
      expect(lstatSync(String(path)).isSymbolicLink()).toBe(true);
    }
    expect(readFileSync(state, 'utf8')).toBe(content);
    expect(readdirSync(dirname(state)).sort()).toEqual(['dangling', 'link', 'state.json']);
  });

  test('a folder that is not writable', async () => {
    const state = join(stateFile(), 'missing', 'state.json');
    expect((await startError({ state })).message).toMatch(/cannot be (read|written) \((ENOENT|ENOTDIR)\)/);
  });

  test('a folder that becomes unwritable shows in readyz', async () => {
    const state = stateFile();
    const service = await simulator({ state });
    const moved = `${dirname(state)}-moved`;
    renameSync(dirname(state), moved);
    afterwards(async () => rmSync(moved, { recursive: true, force: true }));
    const content = readFileSync(join(moved, 'state.json'), 'utf8');
    const { status } = await call(`${service.baseUrl}/_sim/webhooks`, {
      method: 'POST',
      body: { url: 'http://127.0.0.1:1/' },
    });
    expect(status).toBe(201);
    expect((await call(`${service.baseUrl}/_sim/readyz`)).json).toMatchObject({
      state: true,
      state_error: 'ENOENT',
    });
    expect(readFileSync(join(moved, 'state.json'), 'utf8')).toBe(content);
    renameSync(moved, dirname(state));
  });

  test('a failed write is retried until it succeeds, and logged once', async () => {
    const state = stateFile();
    const said: unknown[] = [];
    const error = (fields: object | string) => void said.push((fields as { code?: string }).code);
    const service = await simulator({ state, logger: { info() {}, warn() {}, error } });
    await service.webhooks.create({ url: 'http://127.0.0.1:1/' });
    const moved = `${dirname(state)}-moved`;
    afterwards(async () => rmSync(moved, { recursive: true, force: true }));
    renameSync(dirname(state), moved);
    const [delivery] = await service.trigger('transaction.paid');
    await service.advance('2s');
    expect(said).toEqual(['ENOENT']);
    renameSync(moved, dirname(state));
    // Without a further change: it retries by itself.
    await until(() => readFileSync(state, 'utf8').includes(String(delivery?.event_id)));
    await until(async () => (await call(`${service.baseUrl}/_sim/readyz`)).json.state_error === null);
    expect(said).toEqual(['ENOENT']);
  });
});

describe('the file is written', () => {
  testOnUnix('readable for its owner only, whatever it was before', async () => {
    const state = stateFile();
    writeFileSync(`${state}.tmp`, '');
    chmodSync(`${state}.tmp`, 0o666);
    const first = await startSimulator({ port: 0, state });
    await first.close();
    expect(statSync(state).mode & 0o777).toBe(0o600);
    chmodSync(state, 0o666);
    const second = await startSimulator({ port: 0, state });
    expect(statSync(state).mode & 0o777).toBe(0o600);
    await second.close();
  });

  testOnUnix('without touching files that are already there', async () => {
    const state = stateFile();
    const victim = join(dirname(state), 'victim');
    writeFileSync(victim, 'untouched');
    symlinkSync(victim, `${state}.tmp`);
    const service = await startSimulator({ port: 0, state });
    await service.webhooks.create({ url: 'http://127.0.0.1:1/' });
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
    const service = await startSimulator({ port: 0, state });
    await service.close();
    expect(readdirSync(dirname(state)).sort()).toEqual([...others, 'state.json'].sort());
  });
});

// `npm run test:state-kills` does it fifty times, with the program as it is shipped.
describe('kill -9', () => {
  const program = join(__dirname, 'simulate.ts');

  async function run(state: string): Promise<{ child: ChildProcess; baseUrl: string }> {
    const child = spawn(process.execPath, ['--import', 'tsx', program, state], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const baseUrl = await new Promise<string>((resolve, reject) => {
      child.stdout?.once('data', (line: Buffer) => resolve(String(line).trim()));
      child.once('exit', (code) => reject(new Error(`The simulator ended with ${code}.`)));
    });
    return { child, baseUrl };
  }

  test('in the middle of retries loses nothing that was accepted', async () => {
    const state = stateFile();
    let answer = 500;
    const target = await endpoint((_, response) => response.writeHead(answer).end());
    const accepted = new Set<string>();
    let { child, baseUrl } = await run(state);
    afterwards(async () => child.kill('SIGKILL'));
    await call(`${baseUrl}/_sim/webhooks`, { method: 'POST', body: { url: target.url } });
    for (let kill = 0; kill < 3; kill += 1) {
      const body = { event_name: 'transaction.paid', count: 3 };
      const { json } = await call(`${baseUrl}/_sim/events`, { method: 'POST', body });
      for (const { id } of json.data.events) accepted.add(id);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 120));
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
      ({ child, baseUrl } = await run(state));
    }
    answer = 200;
    const arrived = () => new Set(target.received.map(({ body }) => String(JSON.parse(String(body)).id)));
    const before = target.received.length;
    const pending = async () =>
      (await call(`${baseUrl}/_sim/deliveries?status=pending,in_flight,retrying`)).json.total;
    await until(async () => (await pending()) === 0, 60_000);
    const { json } = await call(`${baseUrl}/_sim/deliveries?status=delivered`);
    const delivered = new Set(json.data.map(({ event_id }: { event_id: string }) => event_id));
    expect([...accepted].filter((id) => !delivered.has(id))).toEqual([]);
    expect([...accepted].filter((id) => !arrived().has(id))).toEqual([]);
    expect(target.received.length).toBeGreaterThan(before);
  }, 240_000);
});
