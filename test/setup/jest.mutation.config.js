// Jest for `npm run mutate`: the tests that run the sources in this process. The others read files, or start
// programs that the mutants do not reach.
import config from '../../jest.config.js';

export default {
  ...config,
  rootDir: '../..',
  reporters: [],
  testPathIgnorePatterns: [
    '/test/(?:docs|examples|package|faults|browser|simulator|client|cli)/',
    '/test/(?:docs|house|package)\\.test\\.ts$',
  ],
};
