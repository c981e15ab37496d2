// A function on a server of others has the log of the package alone, which would be in the output of its test.
import { afterAll, beforeAll, jest } from '@jest/globals';

/** For all tests of the file. */
export function withoutLog(): void {
  beforeAll(() => {
    jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  });
  afterAll(() => {
    jest.restoreAllMocks();
  });
}
