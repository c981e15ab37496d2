// One file of `npm run mutate`, which names it and judges the score.
export default {
  testRunner: 'jest',
  plugins: ['@stryker-mutator/jest-runner'],
  jest: { configFile: 'test/setup/jest.mutation.config.js' },
  coverageAnalysis: 'perTest',
  // The tests wait more than they work.
  concurrency: 2,
  // For mutants that loop: it costs a new process. One that merely waits is caught by the time that a test has.
  timeoutMS: 10_000,
  // What a hanging mutant leaves open is gone with its process.
  maxTestRunnerReuse: 40,
  // Stryker rewrites the compiler's options through an API that TypeScript 7 no longer has. No such file, no rewriting.
  tsconfigFile: 'none',
  ignorePatterns: ['/dist', '/coverage', '/docs/*', '!/docs/sql', '/examples', '/.scratch'],
  reporters: ['progress', 'clear-text', 'json'],
  jsonReporter: { fileName: 'reports/mutation.json' },
  thresholds: { high: 95, low: 90, break: null },
  tempDirName: '.stryker-tmp',
};
