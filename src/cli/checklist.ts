// The checklist of `doctor`, as it grows: for people, or one JSON object a line.
import { type Check, TEST_ORDER } from './battery.js';
import type { Terminal } from './command.js';
import { type Judgement, judge } from './judge.js';
import { type Paint, painter, print, printable } from './print.js';
import type { Reply } from './probe.js';

/** The checklist: one line as each check is done, the cures below it, and a line of progress between. */
export class Checklist {
  readonly #terminal: Terminal;
  readonly #json: boolean;
  readonly #total: number;
  readonly #paint: Paint;
  readonly #told = new Set<string>();
  #passed = 0;
  #failed = 0;

  constructor(terminal: Terminal, { json, total }: { readonly json: boolean; readonly total: number }) {
    this.#terminal = terminal;
    this.#json = json;
    this.#total = total;
    this.#paint = painter(terminal.stdout, terminal.env);
  }

  begin(url: URL): void {
    if (this.#json) return;
    print(
      this.#terminal.stdout,
      `Sending signed sandbox events with the order_id "${TEST_ORDER}" to ${url.origin}${url.pathname};\nits handlers will run for them.\n`,
    );
  }

  add(check: Check, reply: Reply): void {
    const judgement = judge(check, reply);
    if (judgement.passed) this.#passed += 1;
    else this.#failed += 1;
    this.#progress('');
    const { passed, got, cure } = judgement;
    const line = { check: check.name, passed, got, ms: reply.ms, ...(cure === undefined ? {} : { cure }) };
    print(this.#terminal.stdout, this.#json ? JSON.stringify(line) : this.#line(check, judgement));
    this.#progress(`${this.#passed + this.#failed} of ${this.#total}`);
  }

  wait(check: Check): void {
    this.#progress(`waiting for the endpoint to give up: ${check.name}`);
  }

  /** @returns how many checks failed */
  end(): number {
    this.#progress('');
    const [passed, failed] = [this.#passed, this.#failed];
    const verdict =
      failed === 0
        ? this.#paint('green', 'All is well.')
        : this.#paint('red', 'Mend these, and run it again.');
    const text = `\n${passed} passed, ${failed} failed. ${verdict}`;
    print(this.#terminal.stdout, this.#json ? JSON.stringify({ passed, failed }) : text);
    return failed;
  }

  #line({ name }: Check, { passed, got, cure }: Judgement): string {
    const mark = passed ? this.#paint('green', 'pass') : this.#paint('red', 'FAIL');
    const line = `${mark}  ${name.padEnd(52)}  ${printable(got)}`;
    if (cure === undefined) return line;
    const known = this.#told.has(cure);
    this.#told.add(cure);
    return known ? `${line}\n      as above` : `${line}\n      ${cure}`;
  }

  #progress(text: string): void {
    const { stderr } = this.#terminal;
    if (stderr.isTTY) stderr.write(`\r\u001b[K${text === '' ? '' : `… ${text}`}`);
  }
}
