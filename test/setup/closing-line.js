// Ends a run with the tests that failed, those that did not run and why, and "N passed, N failed".
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { explainSkipped } from './programs.js';
import { passedAlone } from './rerun-failed.js';

/** Enough to see what is wrong without searching the output. */
const MOST = 10;
const MESSAGE_LENGTH = 300;

export default class ClosingLine {
  #line = '0 passed, 1 failed';
  #before = [];

  constructor() {
    process.once('exit', () => process.stdout.write(`${[...this.#before, this.#line].join('\n')}\n`));
  }

  onRunComplete(_contexts, results) {
    // A suite that did not load is a failure too.
    const suites = results.numRuntimeErrorTestSuites;
    const failed = results.numFailedTests + suites + (results.runExecError ? 1 : 0);
    const skipped = results.numPendingTests + results.numTodoTests;
    this.#line = `${results.numPassedTests} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
    this.#before = [
      ...passedAlone.flatMap(failuresOf).map((line) => `passed when it ran again: ${line}`),
      ...results.testResults.flatMap(failuresOf).slice(0, MOST),
    ];
    const names = results.testResults.flatMap(({ testResults }) =>
      testResults
        .filter(({ status }) => status === 'pending' || status === 'todo')
        .map((test) => test.fullName),
    );
    if (names.length > 0) this.#before.push(explainSkipped(names));
  }

  /** Jest asks this last: a threshold that was missed has set the exit code by then. */
  getLastError() {
    if (process.exitCode && this.#line.includes(' 0 failed'))
      this.#line = this.#line.replace(' 0 failed', ' 1 failed');
  }
}

/** One line for each, which `.ci/run` repeats at its end. */
function failuresOf({ testFilePath, testResults, testExecError }) {
  const file = relative(process.cwd(), testFilePath);
  const failures = testResults
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages }) => `failed: ${file}, ${fullName}: ${short(failureMessages[0])}`);
  if (testExecError) failures.push(`failed: ${file} did not run: ${short(testExecError.message)}`);
  return failures;
}

function short(message = '') {
  const [text = ''] = stripVTControlCharacters(message).split('\n    at ');
  return text.replace(/\s+/g, ' ').trim().slice(0, MESSAGE_LENGTH);
}
