// Every door, and a strict app, in TypeScript 5.4, 5.9 and 7 with each way of resolving modules that it has.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ROOT } from '../setup/shell.js';
import { type Consumer, consumer, DOORS } from './consumer.js';

const COMPILERS = { '5.4': '5.4.5', '5.9': '5.9.3', '7': '7.0.2' };

const RESOLUTIONS: readonly (readonly [name: string, compilers: readonly string[], options: string])[] = [
  // TypeScript 7 has removed it.
  ['node10', ['5.4', '5.9'], '--module commonjs --moduleResolution node10'],
  ['the default of commonjs', ['5.4', '5.9', '7'], '--module commonjs'],
  ['node16', ['5.4', '5.9', '7'], '--module node16 --moduleResolution node16'],
  ['bundler', ['5.4', '5.9', '7'], '--module esnext --moduleResolution bundler'],
];
const STRICT = '--strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes';

let project: Consumer;

beforeAll(async () => {
  const aliases = Object.entries(COMPILERS).map(
    ([name, version]) => `typescript-${name}@npm:typescript@${version}`,
  );
  const types = ['@types/express', '@types/node@20'];
  project = await consumer('typescript', [...aliases, ...types, 'express', 'bullmq', '@opentelemetry/api']);
  for (const file of ['app.ts', 'app.cts', 'app.mts'])
    copyFileSync(join(ROOT, 'test/package/typescript/app.ts'), join(project.folder, file));
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
    120_000,
  );
});
