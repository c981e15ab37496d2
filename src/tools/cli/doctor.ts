// `doctor`: sends an endpoint good and bad deliveries, and says what to fix.
import { isLocalHost } from '../simulator/address/host.js';
import { type Check, checks, evaluateCheck, outcomeWithoutHandler } from './checks.js';
import {
  CommandError,
  command,
  connectionExitCode,
  EXIT,
  flag,
  jsonOption,
  keyFileOption,
  text,
} from './command.js';
import { duration, endpointUrl, headerName } from './flag-values.js';
import { Output, ProgressBar, print, printable } from './print.js';
import { probe, type Reply } from './probe.js';
import { confirm, readKey } from './read-input.js';

export const doctor = command({
  about:
    'Sends an endpoint signed test events and forged, broken and slow ones, and prints what to fix for each failed check. The events are sandbox events with the order_id "doctor-test", and the handlers of the endpoint run for them. It sends to the given URL only, and asks before it sends to another machine. Use the key of the endpoint; the key itself is never sent. If the valid delivery is not accepted, the other checks are skipped, because their results would mean nothing. If no handler runs for it, that check fails.',
  arguments: [
    {
      name: 'URL',
      about: 'the endpoint, such as 3000/hooks or http://localhost:3000/hooks',
      read: endpointUrl,
    },
  ],
  options: {
    header: text(
      { NAME: 'X-Signature' },
      'Name of the header with the signature. Default: X-SERVICE-SIGNATURE.',
      { alias: 'signature-header', read: headerName },
    ),
    timeout: text(
      { TIME: '30s' },
      'How long to wait for each answer, including the one to a body that never ends. Default: 15s.',
      { read: duration },
    ),
    yes: flag('Do not ask before sending to another machine.'),
    'key-file': keyFileOption,
    json: jsonOption,
  },
  examples: {
    'payment-webhooks doctor 3000/hooks': 'the app on this machine',
    'payment-webhooks doctor https://staging.shop.example/hooks --yes --json': 'a deployed app, in CI',
  },
  async run({ positionals: [address = ''], values, terminal }) {
    const url = new URL(address);
    const { header: signatureHeader, timeout = 15_000, json = false } = values;
    const privateKey = await readKey(values['key-file'], terminal);
    const events = 'signed sandbox events with the order_id "doctor-test"';
    if (!isLocalHost(url.hostname) && !values.yes) {
      const warning = `${url.host} is not this machine. Its handlers will run for ${events}.`;
      await confirm(`${warning} Continue?`, terminal);
    }
    const { first, repeat, others, slow, last } = checks({ privateKey, signatureHeader });
    const checklist = new Checklist(new Output(terminal, json), new ProgressBar(terminal), others.length + 4);
    const send = (check: Check) => probe(url, check.delivery, timeout);
    const announcement = `Sending ${events} to ${url.origin}${url.pathname}.\nIts handlers will run for them.\n`;
    if (!json) print(terminal.stdout, announcement);
    const reply = await send(first);
    if ('failure' in reply && connectionExitCode(reply.failure) === EXIT.unreachable) {
      const message = `Nothing listens at ${url.origin} (${reply.failure}). Start the app first.`;
      throw new CommandError(message, EXIT.unreachable, reply.failure);
    }
    const unhandled = outcomeWithoutHandler(reply) !== undefined;
    if (checklist.add(first, reply) || unhandled) {
      const slowReply = send(slow);
      if (unhandled) checklist.skip([repeat], 'no handler ran for the first delivery');
      for (const check of unhandled ? others : [repeat, ...others]) checklist.add(check, await send(check));
      checklist.waitFor(slow);
      checklist.add(slow, await slowReply);
      checklist.add(last, await send(last));
    } else checklist.skip([repeat, ...others, slow, last], 'the valid delivery was not accepted');
    return checklist.end() === 0 ? EXIT.ok : EXIT.failed;
  },
});

const NAME_WIDTH = 52;

class Checklist {
  readonly #output: Output;
  readonly #progress: ProgressBar;
  readonly #total: number;
  readonly #printedFixes = new Set<string>();
  readonly #count = { passed: 0, failed: 0, skipped: 0 };
  #skippedBecause = '';

  constructor(output: Output, progress: ProgressBar, total: number) {
    this.#output = output;
    this.#progress = progress;
    this.#total = total;
  }

  /** @returns whether the check passed */
  add(check: Check, reply: Reply): boolean {
    const { got, fix } = evaluateCheck(check, reply);
    const passed = fix === undefined;
    const { paint } = this.#output;
    this.#count[passed ? 'passed' : 'failed'] += 1;
    const line = { check: check.name, passed, got, ms: reply.ms, ...(passed ? {} : { cure: fix }) };
    const mark = passed ? paint('green', 'pass') : paint('red', 'FAIL');
    const text = `${mark}  ${check.name.padEnd(NAME_WIDTH)}  ${printable(got)}`;
    this.#print(line, passed ? text : `${text}\n      ${this.#once(fix)}`);
    this.#progress.line(`… ${this.#count.passed + this.#count.failed} of ${this.#total}`);
    return passed;
  }

  skip(checks: readonly Check[], reason: string): void {
    this.#count.skipped += checks.length;
    this.#skippedBecause = reason;
    // Without --json, one line stands for all of them.
    for (const { name } of this.#output.json ? checks : checks.slice(0, 1)) {
      const shown = checks.length === 1 ? name : `${checks.length} other checks`;
      const text = `${this.#output.paint('dim', 'skip')}  ${shown.padEnd(NAME_WIDTH)}  ${reason}`;
      this.#print({ check: name, passed: null, skipped: reason }, text);
    }
  }

  waitFor({ name }: Check): void {
    this.#progress.line(`… waiting for the endpoint to stop reading: ${name}`);
  }

  /** @returns how many checks failed */
  end(): number {
    const { passed, failed, skipped } = this.#count;
    const { paint } = this.#output;
    const advice = `Fix ${failed === 1 ? 'this' : 'these'} and run it again.`;
    const verdict = failed === 0 ? paint('green', 'Nothing to fix.') : paint('red', advice);
    const left = skipped === 0 ? '' : `, ${skipped} skipped: ${this.#skippedBecause}`;
    this.#print(this.#count, `\n${passed} passed, ${failed} failed${left}. ${verdict}`);
    return failed;
  }

  #once(fix: string): string {
    const isKnown = this.#printedFixes.has(fix);
    this.#printedFixes.add(fix);
    return isKnown ? 'as above' : fix;
  }

  #print(line: object, text: string): void {
    this.#progress.end();
    this.#output.print(line, text);
  }
}
