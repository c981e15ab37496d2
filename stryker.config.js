// One file of `npm run mutate`, which names it and judges the score.
export default {
  testRunner: 'jest',
  plugins: ['@stryker-mutator/jest-runner'],
  jest: { configFile: 'test/setup/jest.mutation.config.js' },
  coverageAnalysis: 'perTest',
  // Patient: a test that a busy machine delays is no mutant that hangs.
  timeoutMS: 10_000,
  // Stryker rewrites the compiler's options through an API that TypeScript 7 no longer has. No such file, no rewriting.
  tsconfigFile: 'none',
  ignorePatterns: ['/dist', '/coverage', '/docs', '/examples', '/.scratch'],
  reporters: ['progress', 'clear-text', 'json'],
  jsonReporter: { fileName: 'reports/mutation.json' },
  thresholds: { high: 95, low: 90, break: null },
  tempDirName: '.stryker-tmp',
};
