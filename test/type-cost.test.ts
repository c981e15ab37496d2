// What a compiler pays for many declared events: counted in instantiations, which no busy machine changes.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { node, ROOT } from './setup/shell.js';

const FOLDER = join(ROOT, '.scratch/type-cost');
const COMPILING_MS = 120_000;

describe('declaring events', () => {
  let few: number;
  let many: number;

  beforeAll(async () => {
    rmSync(FOLDER, { recursive: true, force: true });
    mkdirSync(FOLDER, { recursive: true });
    few = await instantiationsFor(100);
    many = await instantiationsFor(200);
  }, COMPILING_MS);

  test('of 200 names, with a handler for each, takes fewer than 250,000 instantiations', () => {
    expect(many).toBeLessThan(250_000);
    // zod alone takes some: a program that was not read would take fewer.
    expect(many).toBeGreaterThan(20_000);
  });

  test('of twice as many names takes less than three times as many', () => {
    expect(many / few).toBeLessThan(3);
  });
});

/** Compiles an app that declares so many events. */
async function instantiationsFor(events: number): Promise<number> {
  const [file, project] = [`app-${events}.ts`, join(FOLDER, `tsconfig-${events}.json`)];
  writeFileSync(join(FOLDER, file), appWith(events));
  writeFileSync(project, JSON.stringify({ extends: '../../tsconfig.json', include: [], files: [file] }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  // With several threads each would count what it needs for itself.
  const { code, stdout } = await node([tsc, '-p', project, '--extendedDiagnostics', '--singleThreaded']);
  expect({ code, complaints: stdout.match(/error TS.*/g) }).toEqual({ code: 0, complaints: null });
  return Number(/^Instantiations:\s+(\d+)$/m.exec(stdout)?.[1]);
}

/** Forty resources, and no two payloads alike: each handler reads the field that only its event has. */
function appWith(events: number): string {
  const names = Array.from({ length: events }, (_, index) => `resource${index % 40}.action${index}`);
  const schemas = names.map(
    (name, index) => `'${name}': z.object({ id: z.string(), field${index}: z.number() }),`,
  );
  const handlers = names.map((name, index) => `hooks.on('${name}', (event) => event.payload.field${index});`);
  return `import { receiver } from 'payment-webhooks';
import { z } from 'zod';
const events = { ${schemas.join('\n')} };
const hooks = receiver({ events, handlers: { '${names[0]}': (event) => event.payload.field0 } });
${handlers.join('\n')}
hooks.on('resource0.*', (event) => event.payload.id);
hooks.on('*', (event) => event.event_name === '${names[0]}' && event.payload.field0);
`;
}
