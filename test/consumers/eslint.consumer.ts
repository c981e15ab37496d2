// Every door under eslint-plugin-import with the resolver that it has by itself, which does not read `exports`.
import { beforeAll, expect, test } from '@jest/globals';
import { type Consumer, consumer, DOORS } from './consumer.js';

const CONFIGURATION = `import plugin from 'eslint-plugin-import';
export default [{ files: ['*.js'], plugins: { import: plugin }, rules: { 'import/no-unresolved': 'error' } }];
`;

let project: Consumer;

beforeAll(async () => {
  project = await consumer('eslint', ['eslint@9', 'eslint-plugin-import@2', 'express']);
  project.write('eslint.config.mjs', CONFIGURATION);
}, 180_000);

/** Specifiers that the rule import/no-unresolved complains of. */
async function unresolved(specifiers: readonly string[]): Promise<string[]> {
  const imports = specifiers.map((specifier) => `import '${specifier}';\n`);
  project.write('app.js', imports.join(''));
  const { stdout } = await project.node(['node_modules/eslint/bin/eslint.js', '--format', 'json', 'app.js']);
  const [{ messages }] = JSON.parse(stdout);
  return messages.map(({ line }: { line: number }) => specifiers[line - 1]);
}

test('eslint-plugin-import finds every door', async () => {
  expect(DOORS).toContain('payment-webhooks/stores/redis');
  const nowhere = 'payment-webhooks/nowhere';
  expect(await unresolved([...DOORS, 'payment-webhooks/package.json', nowhere])).toEqual([nowhere]);
}, 60_000);
