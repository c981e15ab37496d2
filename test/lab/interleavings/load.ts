// Loads the receiver from its sources, with a clock of the test and, if wanted, one deliberate bug.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import type * as Main from '../../../src/index.js';
import type * as Sql from '../../../src/stores/sql.js';
import type { Bug } from './bugs.js';
import { Clock } from './clock.js';

const ROOT = process.cwd();
const require = createRequire(join(ROOT, 'package.json'));

export interface Loaded {
  readonly door: typeof Main & typeof Sql;
  /** Of every receiver that `door` makes. */
  readonly clock: Clock;
}

export async function loadReceiver(bug?: Bug): Promise<Loaded> {
  return (await bundleReceiver(bug))();
}

/** @returns what loads it, each time as in a process of its own */
export async function bundleReceiver(bug?: Bug): Promise<() => Loaded> {
  let replaced = 0;
  const { outputFiles } = await build({
    stdin: {
      contents: "export * from './index.js'; export * from './stores/sql.js';",
      resolveDir: join(ROOT, 'src'),
    },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    plugins: [
      {
        name: 'bug',
        setup: ({ onLoad }) => {
          if (!bug) return;
          onLoad({ filter: new RegExp(`${bug.file.replace(/[./]/g, '[./\\\\]')}$`) }, ({ path }) => {
            const text = readFileSync(path, 'utf8');
            if (text.split(bug.find).length !== 2)
              throw new Error(
                `"${bug.find}" is not in ${bug.file} once. Pass the bug ${bug.name} the text of today.`,
              );
            replaced += 1;
            return { contents: text.replace(bug.find, () => bug.replace), loader: 'ts' };
          });
        },
      },
    ],
  });
  if (bug && replaced !== 1) throw new Error(`${bug.file} was not loaded, so it has no bug.`);
  const code = outputFiles[0]?.text ?? '';
  const names = ['module', 'require', 'setTimeout', 'clearTimeout', 'performance'];
  const run = new Function(...names, code);
  return () => {
    const clock = new Clock();
    const module = { exports: {} };
    const { setTimeout, clearTimeout, performance, setImmediate } = clock.globals;
    const timers: Readonly<Record<string, object>> = {
      'node:timers': { ...require('node:timers'), setImmediate },
      'node:timers/promises': clock.timersPromises,
    };
    const requires = (name: string) => timers[name] ?? require(name);
    run(module, requires, setTimeout, clearTimeout, performance);
    return { door: module.exports as Loaded['door'], clock };
  };
}
