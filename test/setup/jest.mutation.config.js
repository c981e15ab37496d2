// Jest for `npm run mutate`: the tests of the file that is mutated, on one framework and without servers beside them.
import { fileURLToPath } from 'node:url';
import config from '../../jest.config.js';
import { MUTATED } from './mutate.js';

process.env.ONE_FRAMEWORK = '1';
const { globalSetup: _, globalTeardown: __, ...rest } = config;

export default {
  ...rest,
  rootDir: '../..',
  reporters: [],
  testEnvironment: fileURLToPath(new URL('./mutation-environment.cjs', import.meta.url)),
  // Many mutants hang. A test that waits longer than this, and has no patience of its own, has caught one.
  testTimeout: 4_000,
  testMatch: MUTATED[process.env.MUTATED].map((test) => `<rootDir>/test/${test}.test.ts`),
};
