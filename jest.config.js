// Jest in CommonJS mode: swc compiles, and the doors resolve to the sources.
import { availableParallelism } from 'node:os';
import { MOST_WORKERS } from './test/setup/ports.js';

export default {
  testEnvironment: 'node',
  // In processes of their own, so that what one file leaves running keeps no other from ending. More than cores: the long
  // files wait for servers and timers for most of their time.
  maxWorkers: Math.min(2 * availableParallelism() + 1, MOST_WORKERS),
  // What hangs is found all the same; what is slow on a busy machine is not wrong.
  testTimeout: 60_000,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  transform: {
    '\\.[tj]sx?$': [
      '@swc/jest',
      { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  // pg-boss 12 and its dependencies are ES modules alone.
  transformIgnorePatterns: ['/node_modules/(?!(?:pg-boss|serialize-error|non-error)/)'],
  moduleNameMapper: {
    '^payment-webhooks$': '<rootDir>/src/index.ts',
    '^payment-webhooks/(.*)$': '<rootDir>/src/$1.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  setupFiles: ['<rootDir>/test/setup/no-default-ports.js'],
  globalSetup: '<rootDir>/test/setup/global-setup.js',
  globalTeardown: '<rootDir>/test/setup/global-teardown.js',
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.stryker-tmp/'],
  runner: '<rootDir>/test/setup/rerun-failed.js',
  testSequencer: '<rootDir>/test/setup/longest-first.js',
  reporters: ['default', '<rootDir>/test/setup/closing-line.js'],
  // The pages run in a browser: test/browser uses them there, beyond the reach of this count.
  collectCoverageFrom: ['src/**/*.ts', '!src/tools/{letters/page,web/components,simulator/page}/**'],
  coverageProvider: 'v8',
  coverageThreshold: { global: { lines: 95, branches: 90 } },
};
