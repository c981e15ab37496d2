// Ends a run with "N passed, N failed", counting suites that did not load and missed coverage as failures.
export default class ClosingLine {
  #line = '0 passed, 1 failed';

  constructor() {
    process.once('exit', () => process.stdout.write(`${this.#line}\n`));
  }

  onRunComplete(_contexts, results) {
    const suites = results.numRuntimeErrorTestSuites;
    const failed = results.numFailedTests + suites + (results.runExecError ? 1 : 0);
    const skipped = results.numPendingTests + results.numTodoTests;
    this.#line = `${results.numPassedTests} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
  }

  /** Jest asks this last: a threshold that was missed has set the exit code by then. */
  getLastError() {
    if (process.exitCode && this.#line.includes(' 0 failed'))
      this.#line = this.#line.replace(' 0 failed', ' 1 failed');
  }
}
