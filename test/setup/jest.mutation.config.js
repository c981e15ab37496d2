// Jest for `npm run mutate`: the tests of what is mutated, on one framework. Others read files, or start programs that
// the mutants do not reach.
import config from '../../jest.config.js';

process.env.ONE_FRAMEWORK = '1';

export default {
  ...config,
  rootDir: '../..',
  reporters: [],
  testMatch: [
    '<rootDir>/test/signature.test.ts',
    '<rootDir>/test/construct-event.test.ts',
    '<rootDir>/test/receiver/*.test.ts',
    '<rootDir>/test/stores/memory.test.ts',
  ],
};
