// `doctor`: sends an endpoint good and bad deliveries, and says what to fix.
import { isLocalHost } from '../simulator/address/host.js';
import { type Check, checks, evaluateCheck, hasParserAbove, outcomeWithoutHandler } from './checks.js';
import {
  CommandError,
  command,
  connectionExitCode,
  EXIT,
  flag,
  jsonOption,
  keyFileOption,
  type Terminal,
  text,
} from './command.js';
import { duration, endpointUrl, headerOption } from './flag-values.js';
import { outputTo, print, printable, progressBar } from './print.js';
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
    header: headerOption('signature-header', '. Default: X-SERVICE-SIGNATURE.'),
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
    const { first, cookie, repeat, others, slow, last } = checks({ privateKey, signatureHeader });
    const checklist = checklistOf(terminal, json, others.length + 5);
    const send = (check: Check) => probe(url, check.delivery, timeout);
    const announcement = `Sending ${events} to ${url.origin}${url.pathname}.\nIts handlers will run for them.\n`;
    if (!json) print(terminal.stdout, announcement);
    const reply = await send(first);
    if ('failure' in reply && connectionExitCode(reply.failure) === EXIT.unreachable) {
      const message = `Nothing listens at ${url.origin} (${reply.failure}). Start the app, or correct the URL.`;
      throw new CommandError(message, EXIT.unreachable, reply.failure);
    }
    const unhandled = outcomeWithoutHandler(reply) !== undefined;
    if (checklist.add(first, reply) || unhandled) {
      const slowReply = send(slow);
      checklist.add(cookie, reply);
      let parser = false;
      if (unhandled) checklist.skip([repeat], 'no handler ran for the first delivery');
      for (const check of unhandled ? others : [repeat, ...others]) {
        const answer = await send(check);
        parser ||= hasParserAbove(reply, check, answer);
        checklist.add(check, answer, parser);
      }
      checklist.waitFor(slow);
      checklist.add(slow, await slowReply, parser);
      checklist.add(last, await send(last));
    } else checklist.skip([cookie, repeat, ...others, slow, last], 'the valid delivery was not accepted');
    return checklist.end() === 0 ? EXIT.ok : EXIT.failed;
  },
});

const NAME_WIDTH = 52;

function checklistOf(terminal: Terminal, json: boolean, total: number) {
  const output = outputTo(terminal, json);
  const progress = progressBar(terminal);
  const { paint } = output;
  /** The first check with each fix. */
  const printedFixes = new Map<string, string>();
  const count = { passed: 0, failed: 0, skipped: 0 };
  let skippedBecause = '';
  const printLine = (line: object, text: string) => {
    progress.end();
    output.print(line, text);
  };
  return {
    /** @returns whether the check passed */
    add(check: Check, reply: Reply, parser = false): boolean {
      const { got, fix } = evaluateCheck(check, reply, parser);
      const passed = fix === undefined;
      count[passed ? 'passed' : 'failed'] += 1;
      const mark = passed ? paint('green', 'pass') : paint('red', 'FAIL');
      const first = printedFixes.get(fix ?? '');
      const advice = passed ? '' : `\n      ${first ? `as for "${first}"` : fix}`;
      if (!passed && !first) printedFixes.set(fix, check.name);
      const line = { check: check.name, passed, got, ms: reply.ms, ...(passed ? {} : { cure: fix }) };
      printLine(line, `${mark}  ${check.name.padEnd(NAME_WIDTH)}  ${printable(got)}${advice}`);
      progress.line(`… ${count.passed + count.failed} of ${total}`);
      return passed;
    },

    skip(checks: readonly Check[], reason: string): void {
      count.skipped += checks.length;
      skippedBecause = reason;
      // Without --json, one line stands for all of them.
      for (const { name } of json ? checks : checks.slice(0, 1)) {
        const shown = checks.length === 1 ? name : `${checks.length} other checks`;
        const text = `${paint('dim', 'skip')}  ${shown.padEnd(NAME_WIDTH)}  ${reason}`;
        printLine({ check: name, passed: null, skipped: reason }, text);
      }
    },

    waitFor: ({ name }: Check) => progress.line(`… waiting for the endpoint to stop reading: ${name}`),

    /** @returns how many checks failed */
    end(): number {
      const { passed, failed, skipped } = count;
      const advice = `Fix ${failed === 1 ? 'this' : 'these'} and run it again.`;
      const verdict = failed === 0 ? paint('green', 'Nothing to fix.') : paint('red', advice);
      const left = skipped === 0 ? '' : `, ${skipped} skipped: ${skippedBecause}`;
      printLine(count, `\n${passed} passed, ${failed} failed${left}. ${verdict}`);
      return failed;
    },
  };
}
