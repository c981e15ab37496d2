// Runs the tests of a file, or of one describe, as a deployed app: without a terminal, and without NODE_ENV, which Jest sets.
import { afterAll, beforeAll } from '@jest/globals';

export function asDeployed(): void {
  const { NODE_ENV } = process.env;
  let restore = () => {};
  beforeAll(() => {
    delete process.env.NODE_ENV;
    restore = setTerminal(false);
  });
  afterAll(() => {
    process.env.NODE_ENV = NODE_ENV;
    restore();
  });
}

/** Whether standard output is a terminal from now on. @returns a function that restores it */
export function setTerminal(isTTY: boolean): () => void {
  const before = process.stdout.isTTY;
  process.stdout.isTTY = isTTY;
  return () => {
    process.stdout.isTTY = before;
  };
}
