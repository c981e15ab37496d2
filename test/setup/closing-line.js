// Ends a run with what was not run and why, and "N passed, N failed": a suite that did not load is a failure.
import { explainSkipped } from './programs.js';

export default class ClosingLine {
  #line = '0 passed, 1 failed';
  #skipped = [];

  constructor() {
    process.once('exit', () => {
      const skipped = this.#skipped.length > 0 ? `${explainSkipped(this.#skipped)}\n` : '';
      process.stdout.write(`${skipped}${this.#line}\n`);
    });
  }

  onRunComplete(_contexts, results) {
    const suites = results.numRuntimeErrorTestSuites;
    const failed = results.numFailedTests + suites + (results.runExecError ? 1 : 0);
    const skipped = results.numPendingTests + results.numTodoTests;
    this.#skipped = results.testResults.flatMap(({ testResults }) =>
      testResults
        .filter(({ status }) => status === 'pending' || status === 'todo')
        .map((test) => test.fullName),
    );
    this.#line = `${results.numPassedTests} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
  }

  /** Jest asks this last: a threshold that was missed has set the exit code by then. */
  getLastError() {
    if (process.exitCode && this.#line.includes(' 0 failed'))
      this.#line = this.#line.replace(' 0 failed', ' 1 failed');
  }
}
