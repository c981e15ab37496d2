// Jest for `npm run mutate`: the tests of the file that is mutated, on one framework and without servers beside them.
import config from '../../jest.config.js';
import { MUTATED } from './mutate.js';

process.env.ONE_FRAMEWORK = '1';
const { globalSetup: _, globalTeardown: __, ...rest } = config;

export default {
  ...rest,
  rootDir: '../..',
  reporters: [],
  testMatch: MUTATED[process.env.MUTATED].map((test) => `<rootDir>/test/${test}.test.ts`),
};
