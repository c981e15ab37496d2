// Prints the results of `doctor` as they arrive: for people, or one JSON object per line.
import { type Check, evaluateCheck } from './checks.js';
import type { Terminal } from './command.js';
import { Output, printable } from './print.js';
import type { Reply } from './probe.js';

const NAME_WIDTH = 52;

/** Each result on a line, with what to fix below it; between them, the progress. */
export class Checklist {
  readonly #output: Output;
  readonly #progress: (text: string) => void;
  readonly #total: number;
  readonly #printedFixes = new Set<string>();
  readonly #count = { passed: 0, failed: 0, skipped: 0 };
  #skippedBecause = '';

  constructor(terminal: Terminal, { json, total }: { readonly json: boolean; readonly total: number }) {
    const { stderr } = terminal;
    this.#output = new Output(terminal, json);
    this.#total = total;
    this.#progress = (text) => {
      if (stderr.isTTY) stderr.write(`\r\u001b[K${text === '' ? '' : `… ${text}`}`);
    };
  }

  /** Whether the check passed. */
  add(check: Check, reply: Reply): boolean {
    const { got, fix } = evaluateCheck(check, reply);
    const passed = fix === undefined;
    const { paint } = this.#output;
    this.#count[passed ? 'passed' : 'failed'] += 1;
    const line = { check: check.name, passed, got, ms: reply.ms, ...(passed ? {} : { cure: fix }) };
    const mark = passed ? paint('green', 'pass') : paint('red', 'FAIL');
    const text = `${mark}  ${check.name.padEnd(NAME_WIDTH)}  ${printable(got)}`;
    this.#print(line, passed ? text : `${text}\n      ${this.#once(fix)}`);
    this.#progress(`${this.#count.passed + this.#count.failed} of ${this.#total}`);
    return passed;
  }

  /** Checks that were not made, because their result would prove nothing. */
  skip(checks: readonly Check[], reason: string): void {
    this.#count.skipped += checks.length;
    this.#skippedBecause = reason;
    for (const { name } of checks) {
      const text = `${this.#output.paint('dim', 'skip')}  ${name.padEnd(NAME_WIDTH)}  ${reason}`;
      this.#print({ check: name, passed: null, skipped: reason }, text);
    }
  }

  waitFor({ name }: Check): void {
    this.#progress(`waiting for the endpoint to stop reading: ${name}`);
  }

  /** How many checks failed. */
  end(): number {
    const { passed, failed, skipped } = this.#count;
    const verdict =
      failed === 0
        ? this.#output.paint('green', 'All is well.')
        : this.#output.paint('red', `Fix ${failed === 1 ? 'this' : 'these'} and run it again.`);
    const left = skipped === 0 ? '' : `, ${skipped} skipped: ${this.#skippedBecause}`;
    this.#print({ ...this.#count }, `\n${passed} passed, ${failed} failed${left}. ${verdict}`);
    return failed;
  }

  #once(fix: string): string {
    const isKnown = this.#printedFixes.has(fix);
    this.#printedFixes.add(fix);
    return isKnown ? 'as above' : fix;
  }

  #print(line: object, text: string): void {
    this.#progress('');
    this.#output.print(line, text);
  }
}
