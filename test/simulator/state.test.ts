// The state file: everything outlives a restart, also a violent one, and no file that is not understood is touched.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { startSimulator } from 'payment-webhooks/simulator';
import { afterwards, basic, call, endpoint, simulator, until } from './world.js';

function stateFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'simulator-'));
  afterwards(async () => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'state.json');
}

describe('a restart', () => {
  test('brings everything back, and pending retries go on', async () => {
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

  test('sends at once what was under way', async () => {
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

  test('keeps a delayed delivery waiting, label and all', async () => {
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

  test('without the allowance of before connects to no public address', async () => {
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

  test('after a reset has nothing to bring back', async () => {
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
    ['of something else', () => '{"name":"my-app"}', /is not a simulator's: version does not fit/],
    ['null', () => 'null', /is not a simulator's/],
    [
      'changed by hand',
      (text) => text.replace('"paused":false', '"paused":"no"'),
      /webhooks\.0\.paused does not fit/,
    ],
  ])('%s', async (_, damage, message) => {
    const state = await whole();
    const damaged = damage(readFileSync(state, 'utf8'));
    writeFileSync(state, damaged);
    await expect(startSimulator({ port: 0, state })).rejects.toThrow(message);
    await expect(startSimulator({ port: 0, state })).rejects.toThrow(/left as it is: move it away/);
    expect(readFileSync(state, 'utf8')).toBe(damaged);
    expect(existsSync(`${state}.tmp`)).toBe(false);
  });

  test('a folder in its place', async () => {
    const folder = join(stateFile(), '..');
    await expect(startSimulator({ port: 0, state: folder })).rejects.toThrow(/cannot be read \(EISDIR\)/);
  });

  test('a place where nothing can be written', async () => {
    const state = join(stateFile(), 'missing', 'state.json');
    await expect(startSimulator({ port: 0, state })).rejects.toThrow(
      /cannot be (read|written) \((ENOENT|ENOTDIR)\)/,
    );
    // A folder stands where the new file is put together.
    const whole = stateFile();
    const service = await startSimulator({ port: 0, state: whole });
    await service.close();
    const content = readFileSync(whole, 'utf8');
    mkdirSync(`${whole}.tmp`);
    await expect(startSimulator({ port: 0, state: whole })).rejects.toThrow(/cannot be written \(EISDIR\)/);
    expect(readFileSync(whole, 'utf8')).toBe(content);
  });

  test('a place that becomes unwritable is said in readyz, and the old file stays', async () => {
    const state = stateFile();
    const service = await simulator({ state });
    const content = readFileSync(state, 'utf8');
    mkdirSync(`${state}.tmp`);
    const { status } = await call(`${service.baseUrl}/_sim/webhooks`, {
      method: 'POST',
      body: { url: 'http://127.0.0.1:1/' },
    });
    expect(status).toBe(201);
    expect((await call(`${service.baseUrl}/_sim/readyz`)).json).toMatchObject({
      state: true,
      state_error: 'EISDIR',
    });
    expect(readFileSync(state, 'utf8')).toBe(content);
    rmSync(`${state}.tmp`, { recursive: true });
  });

  test('the file is for its owner alone', async () => {
    expect(statSync(await whole()).mode & 0o077).toBe(0);
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
    await until(async () => (await pending()) === 0, 30_000);
    const { json } = await call(`${baseUrl}/_sim/deliveries?status=delivered`);
    const delivered = new Set(json.data.map(({ event_id }: { event_id: string }) => event_id));
    expect([...accepted].filter((id) => !delivered.has(id))).toEqual([]);
    expect([...accepted].filter((id) => !arrived().has(id))).toEqual([]);
    expect(target.received.length).toBeGreaterThan(before);
  }, 240_000);
});
