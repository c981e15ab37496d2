import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Deadlines } from '../src/deadlines.js';

// Only timers armed from here on by what is tested: Jest's own come and go in the same process.
const setRealTimer = globalThis.setTimeout;
const armed = new Set<NodeJS.Timeout>();

beforeAll(() => {
  globalThis.setTimeout = ((callback: () => void, ms: number) => {
    const timer = setRealTimer(() => {
      callback();
      armed.delete(timer);
    }, ms);
    armed.add(timer);
    return timer;
  }) as typeof setTimeout;
});

afterAll(() => {
  globalThis.setTimeout = setRealTimer;
});

/** Those that keep the process alive. */
function runningTimers(): number {
  return [...armed].filter((timer) => timer.hasRef()).length;
}

/** Resolves with the milliseconds that passed until the deadline. */
function expiry(deadlines: Deadlines): Promise<number> {
  const start = performance.now();
  return new Promise((resolve) => {
    deadlines.set(() => resolve(performance.now() - start));
  });
}

describe('Deadlines', () => {
  test('expire after their time, never before', async () => {
    const deadlines = new Deadlines(30);
    const waits = [];
    for (let index = 0; index < 10; index += 1) {
      waits.push(expiry(deadlines));
      await sleep(3);
    }
    for (const waited of await Promise.all(waits)) {
      expect(waited).toBeGreaterThanOrEqual(30);
      expect(waited).toBeLessThan(10_000);
    }
  });

  test('may be of a fraction of a millisecond', async () => {
    expect(await expiry(new Deadlines(0.4))).toBeGreaterThanOrEqual(0.4);
  });

  test('expire in the order in which they were set, each once', async () => {
    const deadlines = new Deadlines(10);
    const expired: number[] = [];
    for (let index = 0; index < 100; index += 1) deadlines.set(() => expired.push(index));
    await expiry(deadlines);
    await sleep(30);
    expect(expired).toEqual(Array.from({ length: 100 }, (_, index) => index));
  });

  test('do not expire once cleared, wherever they stand', async () => {
    const deadlines = new Deadlines(10);
    const expired: string[] = [];
    const [first, , middle, , last] = ['a', 'b', 'c', 'd', 'e'].map((label) =>
      deadlines.set(() => expired.push(label)),
    );
    const cleared = [first, middle, last, middle].map((deadline) => deadline && deadlines.clear(deadline));
    expect(cleared).toEqual([true, true, true, false]);
    await sleep(40);
    expect(expired).toEqual(['b', 'd']);
  });

  test('may be cleared after they have expired', async () => {
    const deadlines = new Deadlines(5);
    let deadline = deadlines.set(() => {});
    await sleep(20);
    expect(deadlines.clear(deadline)).toBe(false);
    const second = new Promise<void>((resolve) => {
      deadline = deadlines.set(resolve);
    });
    await second;
  });

  test('share one timer, however many there are', async () => {
    const before = runningTimers();
    const deadlines = new Deadlines(20);
    let expired = 0;
    for (let index = 0; index < 1_000; index += 1) deadlines.set(() => (expired += 1));
    expect(runningTimers() - before).toBe(1);
    await sleep(60);
    expect(expired).toBe(1_000);
    expect(runningTimers() - before).toBe(0);
  });

  test('still share one timer when callbacks set further ones', async () => {
    const before = runningTimers();
    const deadlines = new Deadlines(20);
    const expired: string[] = [];
    const last = new Promise<number>((resolve) => {
      deadlines.set(() => {
        expired.push('first');
        deadlines.set(() => {
          expired.push('set by the first');
          resolve(runningTimers() - before);
        });
        expect(runningTimers() - before).toBe(1);
      });
    });
    await new Promise<void>((resolve) => {
      deadlines.set(() => {
        expired.push('second');
        setImmediate(resolve);
      });
    });
    expect(expired).toEqual(['first', 'second']);
    expect(runningTimers() - before).toBe(1);
    expect(await last).toBe(1);
    expect(expired).toEqual(['first', 'second', 'set by the first']);
  });

  test('may be cleared by the callback of another that falls due with them', async () => {
    const deadlines = new Deadlines(10);
    const expired: string[] = [];
    deadlines.set(() => {
      expired.push('first');
      deadlines.clear(second);
    });
    const second = deadlines.set(() => expired.push('second'));
    await sleep(40);
    expect(expired).toEqual(['first']);
  });

  test('work again after all were cleared', async () => {
    const deadlines = new Deadlines(20);
    deadlines.clear(deadlines.set(() => {}));
    expect(await expiry(deadlines)).toBeGreaterThanOrEqual(20);
    await sleep(30);
    expect(await expiry(deadlines)).toBeGreaterThanOrEqual(20);
  });

  test('are late together when the event loop was blocked, and then run at once', async () => {
    const deadlines = new Deadlines(10);
    const both = Promise.all([expiry(deadlines), expiry(deadlines)]);
    const until = performance.now() + 50;
    while (performance.now() < until);
    for (const waited of await both) expect(waited).toBeLessThan(10_000);
  });
});

describe('race', () => {
  test('settles like the promise when that is first, and lets go of the deadline', async () => {
    const before = runningTimers();
    const deadlines = new Deadlines(60_000);
    let late = 0;
    const count = () => `late ${++late}`;
    await expect(deadlines.race(Promise.resolve('in time'), count)).resolves.toBe('in time');
    await expect(deadlines.race(Promise.reject(new Error('no')), count)).rejects.toThrow('no');
    expect(late).toBe(0);
    expect(runningTimers() - before).toBe(0);
  });

  test('settles with what late() returns when the deadline is first, whatever comes after', async () => {
    const deadlines = new Deadlines(5);
    const slow = sleep(200).then(() => 'too late');
    const failing = sleep(200).then(() => {
      throw new Error('too late');
    });
    await expect(deadlines.race(slow, () => 'late')).resolves.toBe('late');
    await expect(deadlines.race(failing, () => 'late')).resolves.toBe('late');
    await Promise.allSettled([slow, failing]);
  });
});

describe('a process', () => {
  async function run(script: string): Promise<{ output: string; code: number | null; ms: number }> {
    const start = performance.now();
    const source = `import { Deadlines } from './src/deadlines.ts'; ${script}`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', source], {
      cwd: `${__dirname}/..`,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const chunks = await child.stdout.setEncoding('utf8').toArray();
    const code =
      child.exitCode ?? (await new Promise<number | null>((resolve) => child.once('close', resolve)));
    return { output: chunks.join(''), code, ms: performance.now() - start };
  }

  test('is not kept alive by deadlines that were cleared', async () => {
    const { output, code, ms } = await run(
      `const deadlines = new Deadlines(60_000);
       deadlines.clear(deadlines.set(() => console.log('expired')));
       deadlines.clear(deadlines.set(() => console.log('expired')));
       console.log('idle');`,
    );
    expect({ output, code }).toEqual({ output: 'idle\n', code: 0 });
    expect(ms).toBeLessThan(30_000);
  }, 40_000);

  test('is kept alive by one that waits, also after it was idle', async () => {
    const { output } = await run(
      `const deadlines = new Deadlines(300);
       deadlines.clear(deadlines.set(() => console.log('cleared')));
       deadlines.set(() => console.log('expired'));`,
    );
    expect(output).toBe('expired\n');
  }, 40_000);
});
