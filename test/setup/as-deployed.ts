// Runs the tests of a file, or of one describe, without NODE_ENV: Jest sets it to `test`, where more is logged.
import { afterAll, beforeAll } from '@jest/globals';

export function asDeployed(): void {
  const { NODE_ENV } = process.env;
  beforeAll(() => {
    delete process.env.NODE_ENV;
  });
  afterAll(() => {
    process.env.NODE_ENV = NODE_ENV;
  });
}
