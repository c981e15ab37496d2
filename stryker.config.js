// Mutation testing of what must never be wrong: `npm run mutate` (long; not part of CI).
export default {
  mutate: ['src/signature.ts', 'src/receiver/*.ts', 'src/stores/memory.ts'],
  testRunner: 'jest',
  plugins: ['@stryker-mutator/jest-runner'],
  jest: { configFile: 'test/setup/jest.mutation.config.js' },
  coverageAnalysis: 'perTest',
  // Stryker rewrites the compiler's options through an API that TypeScript 7 no longer has. No such file, no rewriting.
  tsconfigFile: 'none',
  ignorePatterns: ['/dist', '/coverage', '/docs', '/examples', '/.scratch'],
  reporters: ['progress', 'clear-text', 'html'],
  htmlReporter: { fileName: 'reports/mutation.html' },
  thresholds: { high: 95, low: 90, break: 85 },
  tempDirName: '.stryker-tmp',
};
