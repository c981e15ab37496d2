// Runs the test files that failed once more, each alone, if RERUN_FAILED says how many may. What passes then is named at the end.
import TestRunner from 'jest-runner';

const MOST = Number(process.env.RERUN_FAILED ?? 0);

/** Results of first runs whose file passed when it ran alone. */
export const passedAlone = [];

export default class RerunFailed extends TestRunner {
  #failed = [];
  #report;

  on(event, listener) {
    if (event !== 'test-file-success') return super.on(event, listener);
    this.#report = listener;
    return super.on(event, ([test, result]) => {
      if (MOST === 0 || result.numFailingTests === 0) return listener([test, result]);
      this.#failed.push([test, result]);
    });
  }

  async runTests(tests, watcher, options) {
    await super.runTests(tests, watcher, options);
    const few = this.#failed.length <= MOST;
    for (const [test, result] of this.#failed) {
      await this.#report([test, few ? await this.#rerun(test, watcher, result) : result]);
    }
  }

  /** In a new process, as before. The first result stands unless every test passes. */
  async #rerun(test, watcher, first) {
    const alone = new TestRunner({ ...this._globalConfig, maxWorkers: 1 }, this._context);
    let second = first;
    alone.on('test-file-success', ([, result]) => {
      if (result.numFailingTests === 0) second = result;
    });
    await alone.runTests([test], watcher, { serial: false });
    if (second !== first) passedAlone.push(first);
    return second;
  }
}
