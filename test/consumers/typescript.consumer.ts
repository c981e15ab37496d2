// Every door, a strict app and what it exports, in TypeScript 5.4, 5.9 and 7 with each way of resolving modules they have.
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { DOORS as EXPORTS } from '../setup/doors.js';
import { ROOT } from '../setup/shell.js';
import { type Consumer, consumer, DOORS } from './consumer.js';
import { membersOfAllTypes, resultsByDoor } from './exported-constants.js';

const COMPILERS = { '5.4': '5.4.5', '5.9': '5.9.3', '7': '7.0.2' };

const RESOLUTIONS: readonly (readonly [name: string, compilers: readonly string[], options: string])[] = [
  // TypeScript 7 has removed it.
  ['node10', ['5.4', '5.9'], '--module commonjs --moduleResolution node10'],
  ['the default of commonjs', ['5.4', '5.9', '7'], '--module commonjs'],
  ['node16', ['5.4', '5.9', '7'], '--module node16 --moduleResolution node16'],
  ['bundler', ['5.4', '5.9', '7'], '--module esnext --moduleResolution bundler'],
];
const STRICT = '--strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes';

const NAMED = join(ROOT, 'test/package/typescript/named.ts');
const MEMBERS = ['members.mts', membersOfAllTypes()] as const;
const RESULTS = resultsByDoor();

let project: Consumer;

beforeAll(async () => {
  const aliases = Object.entries(COMPILERS).map(
    ([name, version]) => `typescript-${name}@npm:typescript@${version}`,
  );
  const types = ['@types/express', '@types/node@20', '@types/pg'];
  const peers = ['express', 'bullmq', 'pg', 'pg-boss@12', '@opentelemetry/api'];
  project = await consumer('typescript', [...aliases, ...types, ...peers]);
  for (const file of ['app.ts', 'app.cts', 'app.mts'])
    copyFileSync(join(ROOT, 'test/package/typescript/app.ts'), join(project.folder, file));
  copyFileSync(NAMED, join(project.folder, 'named.mts'));
  for (const [file, text] of [MEMBERS, ...RESULTS]) project.write(file, text);
  const imports = DOORS.map((specifier, index) => `export * as door${index} from '${specifier}';`);
  const control = "// @ts-expect-error: there is no such door\nexport * from 'payment-webhooks/nowhere';\n";
  project.write('doors.ts', `${imports.join('\n')}\n${control}`);
}, 180_000);

describe.each(RESOLUTIONS)('with moduleResolution %s', (name, compilers, options) => {
  test.each(compilers)(
    'TypeScript %s finds every door, and reads the types of an app',
    async (compiler) => {
      const files = ['app.ts', 'doors.ts', ...(name === 'node16' ? ['app.cts', 'app.mts'] : [])];
      const shape = '--noEmit --target es2022 --types node --esModuleInterop --skipLibCheck';
      const tsc = `node_modules/typescript-${compiler}/bin/tsc`;
      const args = [tsc, ...`${shape} ${STRICT} ${options}`.split(' '), ...files];
      expect(await project.node(args)).toEqual({ code: 0, stdout: '', stderr: '' });
    },
    240_000,
  );
});

// `ErrorOptions` is of ES2022, for one.
test.each(Object.keys(COMPILERS))(
  'with the library of ES2021, TypeScript %s reads every declaration',
  async (compiler) => {
    const shape = '--noEmit --target es2021 --lib es2021 --types node --strict --skipLibCheck false';
    const tsc = `node_modules/typescript-${compiler}/bin/tsc`;
    const args = [
      tsc,
      ...shape.split(' '),
      '--module',
      'nodenext',
      '--moduleResolution',
      'nodenext',
      'doors.ts',
    ];
    expect(await project.node(args)).toEqual({ code: 0, stdout: '', stderr: '' });
  },
  240_000,
);

describe('the declarations of a library that exports what the doors give', () => {
  const shape =
    '--declaration --emitDeclarationOnly --outDir declarations --target es2022 --types node --skipLibCheck';
  const declare = (compiler: string, options: string, file: string) => {
    const tsc = `node_modules/typescript-${compiler}/bin/tsc`;
    return project.node([tsc, ...`${shape} ${STRICT} ${options}`.split(' '), file]);
  };
  const NODE = '--module nodenext --moduleResolution nodenext';

  for (const options of [NODE, '--module esnext --moduleResolution bundler']) {
    test.each(Object.keys(COMPILERS))(
      `name every type, in TypeScript %s with ${options}`,
      async (compiler) => {
        for (const file of ['named.mts', 'members.mts'])
          expect(await declare(compiler, options, file)).toEqual({ code: 0, stdout: '', stderr: '' });
      },
      240_000,
    );
  }

  // The compiler finds a name in any module that the program has read; this program has read one.
  test.each(RESULTS)(
    'name every type with one door alone: %s',
    async (file) => {
      expect(await declare('7', NODE, file)).toEqual({ code: 0, stdout: '', stderr: '' });
    },
    240_000,
  );

  test('are of every function there is', () => {
    const called = readFileSync(NAMED, 'utf8').split("from 'zod';")[1] ?? '';
    const functions = Object.values(EXPORTS).flatMap(({ values }) =>
      values.filter((name) => /^[a-z]|Client$/.test(name)),
    );
    expect(functions.length).toBeGreaterThan(30);
    expect(functions.filter((name) => !new RegExp(`\\b${name}\\b`).test(called))).toEqual([]);
  });
});
