// The layout, kept true: captions, floors, stations, sizes. docs/project/contributing.md says why each rule is there.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readSource, readSources, type Source } from './setup/sources.js';

const ROOT = join(__dirname, '..');
const sources = readSources(join(ROOT, 'src'));

/** From the ground up: imports go down this list or stay in the folder, so no two folders can import each other. */
const FLOORS: readonly string[] = [
  ...['errors', 'misuse', 'time', 'signature', 'logger', 'default-logger', 'observer'],
  ...['events/', 'contracts/', 'http/', 'claims/', 'deliveries/', 'handlers/', 'options/', 'fixtures/'],
  ...['stores/', 'receiver/', 'dead-letters/', 'client/'],
  ...['receiver', 'construct-event', 'queues/', 'testing/', 'ops/', 'opentelemetry/'],
  ...['tools/web/', 'tools/letters/', 'tools/simulator/', 'tools/cli/'],
  ...['index', 'verify', 'client', 'testing', 'simulator', 'opentelemetry', 'ops', 'queues', 'cli'],
];

const STATIONS = ['capture-body', 'check-signature', 'decode-event', 'process-event', 'respond'];

/** What the floors would allow and a reason forbids. */
const CLOSED: readonly (readonly [why: string, importer: RegExp, imported: RegExp])[] = [
  ['a station knows no other station', /^receiver\//, /^receiver\//],
  [
    'the receiver knows its stations and the default store',
    /^receiver$/,
    /^(?:fixtures|client)\/|^stores\/(?!memory$)/,
  ],
  ['a store knows no other store', /^stores\/memory/, /^stores\//],
  ['a store knows no other store', /^stores\/postgres/, /^stores\/(?!sql\/|letters\/|inbox\/(?!memory))/],
  ['a store knows no other store', /^stores\/redis/, /^stores\/(?!redis\/|letters\/redis|inbox\/pruned)/],
  ['a store knows no other store', /^stores\/sql/, /^stores\/(?!sql\/|letters\/|inbox\/(?!memory))/],
  ['a pool of pg needs no other client', /^stores\/postgres/, /^stores\/(?:sql\/any|.*mysql)/],
  [
    'the engine knows no client and no dialect',
    /^stores\/sql\/(?:engine|session|dialect)$/,
    /^stores\/sql\/(?:any|pg|mysql|postgres)/,
  ],
  ['a page imports no station', /^(?:ops|tools)\//, /^receiver\//],
  ['the tests of users do not rest on what they test', /^testing\//, /^(?:receiver|tools\/simulator)/],
  ['the simulator is the other side of the wire', /^tools\/simulator\//, /^(?:receiver|client)(?:$|\/)/],
  ['nobody imports the CLI', /^(?!cli$|tools\/cli\/)/, /^(?:cli$|tools\/cli\/)/],
];

/** The packages a user brings for a door; anything else that is imported must be a dependency. */
const BROUGHT_BY_USERS: readonly (readonly [importer: RegExp, packages: readonly string[]])[] = [
  // The simulator that it is a demo of needs Express too.
  [/^tools\/(?:cli\/demo-endpoint$|simulator\/)/, ['express']],
  [/^tools\/(?:letters\/page|web\/components|simulator\/page)\//, ['preact']],
  [/^queues\//, ['bullmq']],
  [/^opentelemetry\//, ['@opentelemetry/api']],
];

/** How high a file is. */
function placeOf(path: string): number {
  const fits = FLOORS.filter((place) => place === path || (place.endsWith('/') && path.startsWith(place)));
  return FLOORS.indexOf(fits.sort((one, other) => other.length - one.length)[0] ?? '');
}

function importsOf(source: Source): string[] {
  return source.imports.filter(({ ours }) => ours).map(({ from }) => from);
}

/** A way from the file through its imports back to itself. */
function cycleFrom(start: string): string[] | undefined {
  const byPath = new Map(sources.map((source) => [source.path, importsOf(source)]));
  const seen = new Set<string>();
  const search = (path: string, way: string[]): string[] | undefined => {
    for (const next of byPath.get(path) ?? []) {
      if (next === start) return [...way, next];
      if (seen.has(next)) continue;
      seen.add(next);
      const found = search(next, [...way, next]);
      if (found) return found;
    }
    return undefined;
  };
  return search(start, [start]);
}

describe('every file in src', () => {
  test('opens with a caption of one sentence', () => {
    const uncaptioned = sources.filter(({ lines }) => {
      const first = lines[0]?.startsWith('#!') ? lines[1] : lines[0];
      return !/^\/\/ [A-Z`].+\.$/.test(first ?? '');
    });
    expect(uncaptioned.map(({ path }) => path)).toEqual([]);
  });

  test('has at most 400 lines', () => {
    expect(sources.filter(({ lines }) => lines.length > 400).map(({ path }) => path)).toEqual([]);
  });

  test('awaits what it returns from a try with a finally, which would run first', () => {
    const overtaken = sources.flatMap(({ path, unawaitedReturns }) =>
      unawaitedReturns.map((line) => `${path}:${line}`),
    );
    expect(overtaken).toEqual([]);
  });

  test('is named by what it is, not by what kind of code is in it', () => {
    const vague = /(?:^|\/)(?:utils?|helpers?|common|types?|misc)$/;
    expect(sources.filter(({ path }) => vague.test(path)).map(({ path }) => path)).toEqual([]);
  });
});

test('the stores and the dead letters have no name twice, because each thing is done in one place', () => {
  const declared = /^(?:export )?(?:async )?(?:function\*?|class|interface|type|const) (\w+)/;
  const places = new Map<string, Set<string>>();
  for (const { path, lines } of sources.filter(({ path }) => /^(?:stores|dead-letters)\//.test(path)))
    for (const [, name] of lines.map((line) => declared.exec(line) ?? []))
      if (name) places.set(name, (places.get(name) ?? new Set()).add(path));
  expect(places.size).toBeGreaterThan(200);
  expect([...places].filter(([, { size }]) => size > 1)).toEqual([]);
});

describe('the floors', () => {
  test('have a place for every file', () => {
    expect(sources.filter(({ path }) => placeOf(path) === -1).map(({ path }) => path)).toEqual([]);
  });

  test('let imports only go down', () => {
    const climbing = sources.flatMap((source) =>
      importsOf(source)
        .filter((imported) => placeOf(imported) > placeOf(source.path))
        .map((imported) => `${source.path} imports ${imported}`),
    );
    expect(climbing).toEqual([]);
  });

  test.each(CLOSED)('are closed where %s', (_why, importer, imported) => {
    const crossing = sources
      .filter(({ path }) => importer.test(path))
      .flatMap((source) =>
        importsOf(source)
          .filter((from) => imported.test(from))
          .map((from) => `${source.path} imports ${from}`),
      );
    expect(crossing).toEqual([]);
  });

  test('hold no import cycle, not even of types', () => {
    expect(sources.map(({ path }) => cycleFrom(path)).filter(Boolean)).toEqual([]);
  });

  test('need no package but the dependencies and what the user of a door brings, not even for a type', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const foreign = sources.flatMap(({ path, imports }) => {
      const brought = BROUGHT_BY_USERS.filter(([door]) => door.test(path)).flatMap(
        ([, packages]) => packages,
      );
      return imports
        .filter(({ from, ours }) => !ours && !from.startsWith('node:'))
        .filter(({ from }) => !Object.hasOwn(dependencies, from) && !brought.some((name) => isOf(name, from)))
        .map(({ from }) => `${path} imports ${from}`);
    });
    expect(foreign).toEqual([]);
  });
});

/** `preact/hooks` is of the package `preact`. */
function isOf(name: string, specifier: string): boolean {
  return specifier === name || specifier.startsWith(`${name}/`);
}

describe('the receiver', () => {
  test('has exactly the five stations, and their file list is the way of a delivery', () => {
    const files = sources.filter(({ path }) => path.startsWith('receiver/')).map(({ path }) => path);
    expect(files).toEqual(STATIONS.map((station) => `receiver/${station}`));
  });

  test('is conducted through the stations in the order of their files', () => {
    const { calls = [] } = sources.find(({ path }) => path === 'receiver') ?? {};
    const functions = STATIONS.map((station) =>
      station.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
    );
    const firstCalls = [...new Set(calls.filter((name) => functions.includes(name)))];
    expect(firstCalls).toEqual(functions);
  });

  test('has a test file for each station', () => {
    const tests = STATIONS.map((station) => `test/receiver/${station}.test.ts`);
    expect(tests.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

test.each(['index', 'client', 'opentelemetry', 'ops', 'simulator', 'testing', 'verify'])(
  'the door %s only passes on what others export',
  (door) => {
    const { statements = [] } = sources.find(({ path }) => path === door) ?? {};
    const exporting = /^Export(?:Named|All)Declaration$/;
    expect(statements.filter((kind) => !exporting.test(kind))).toEqual([]);
  },
);

describe('the reader of sources', () => {
  const text = `// An é in the caption.
    import type { A } from '../errors.js';
    export { b } from './b.js';
    class C {
      #m() {
        first(() => second());
      }
    }
    await import('pino');
`;
  const source = readSource('receiver/example.ts', text);

  test('sees static, re-exported and dynamic imports', () => {
    expect(source.imports).toEqual([
      { from: 'errors', ours: true, typeOnly: true },
      { from: 'receiver/b', ours: true, typeOnly: false },
      { from: 'pino', ours: false, typeOnly: false },
    ]);
  });

  test('lists calls in the order of the text', () => {
    expect(source.calls).toEqual(['first', 'second']);
  });

  test('sees what a finally overtakes', () => {
    const text = (returned: string) =>
      `async function f() {\n  try {\n    return ${returned};\n  } finally {\n    await end();\n  }\n}\n`;
    const linesOf = (returned: string) => readSource('receiver/example.ts', text(returned)).unawaitedReturns;
    expect([linesOf('work()'), linesOf('ok ? await work() : work()')]).toEqual([[3], [3]]);
    expect([linesOf('await work()'), linesOf('value'), linesOf('() => work()')]).toEqual([[], [], []]);
  });
});
