// `npm run test:portable`: what is tested on macOS and Windows, where CI has no Redis, no Postgres and no Chromium of its
// own. No server is started, so the tests that talk to one are skipped, as they are on any machine without them.
import { fileURLToPath } from 'node:url';
import config from '../../jest.config.js';

const { globalSetup: _start, globalTeardown: _stop, ...portable } = config;

export default {
  ...portable,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  // Jest reads each slash as that of the system.
  testPathIgnorePatterns: [
    '/node_modules/',
    // Chromium.
    '<rootDir>/test/browser/',
    // What is typed into bash as the docs show it, in a process group that a signal ends.
    '<rootDir>/test/examples/',
    '<rootDir>/test/docs/(?:by-hand|deploying|security)\\.test\\.ts$',
    '<rootDir>/test/package\\.test\\.ts$',
  ],
};
