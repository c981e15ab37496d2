// `doctor`: sends an endpoint good and bad deliveries, and says what to fix.
import { isLoopback } from '../client/address.js';
import type { Check } from './checks.js';
import {
  CommandError,
  command,
  EXIT,
  flag,
  jsonOption,
  keyFileOption,
  text,
  UNREACHABLE,
  UsageError,
} from './command.js';
import { duration, endpointUrl } from './flag-values.js';
import { print } from './print.js';
import { probe } from './probe.js';
import { confirm, readKey } from './read-input.js';

export const doctor = command({
  about:
    'Sends an endpoint signed test events and forged, broken and slow ones, and prints what to fix for each failed check. The events are sandbox events with the order_id "doctor-test"; the handlers of the endpoint run for them. It sends to the given URL only, and asks before it sends to another machine. Use the key that the endpoint has; the key is never sent. If the valid delivery is not accepted, the other checks are skipped, because their results would prove nothing. If no handler runs for it, that check fails.',
  arguments: [{ name: 'URL', about: 'the endpoint, such as 3000/hooks or http://localhost:3000/hooks' }],
  options: {
    header: text(
      { NAME: 'X-Signature' },
      'Name of the header with the signature, instead of X-SERVICE-SIGNATURE.',
    ),
    timeout: text(
      { TIME: '30s' },
      'How long to wait for an answer, also to a body that never ends. Default: 15s.',
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
    const url = new URL(endpointUrl('URL', address));
    const timeoutMs = duration('--timeout', values.timeout ?? '15s');
    const { header: signatureHeader = 'X-SERVICE-SIGNATURE', json = false } = values;
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(signatureHeader)) {
      throw new UsageError(`--header ${JSON.stringify(signatureHeader)} is not a valid header name.`);
    }
    const privateKey = await readKey(values['key-file'], terminal);
    if (!isLoopback(url.hostname) && !values.yes) await confirm(question(url), terminal);
    const [{ checks, wasIgnored }, { Checklist }] = await Promise.all([
      import('./checks.js'),
      import('./checklist.js'),
    ]);
    const { first, repeat, others, slow, last } = checks({ privateKey, signatureHeader });
    const checklist = new Checklist(terminal, { json, total: others.length + 4 });
    const send = (check: Check) => probe(url, check.delivery, timeoutMs);
    if (!json) print(terminal.stdout, announcement(url));
    const reply = await send(first);
    refuseUnreachable(url, reply.failure);
    const ignored = wasIgnored(reply);
    if (checklist.add(first, reply) || ignored) {
      const slowReply = send(slow);
      if (ignored) checklist.skip([repeat], 'no handler ran for the first delivery');
      for (const check of ignored ? others : [repeat, ...others]) checklist.add(check, await send(check));
      checklist.waitFor(slow);
      checklist.add(slow, await slowReply);
      checklist.add(last, await send(last));
    } else checklist.skip([repeat, ...others, slow, last], 'the valid delivery was not accepted');
    return checklist.end() === 0 ? EXIT.ok : EXIT.failed;
  },
});

function question(url: URL): string {
  return `${url.host} is not this machine. Its handlers will run for signed sandbox events with the order_id "doctor-test". Continue?`;
}

function announcement({ origin, pathname }: URL): string {
  return `Sending signed sandbox events with the order_id "doctor-test" to ${origin}${pathname}.\nIts handlers will run for them.\n`;
}

function refuseUnreachable(url: URL, failure: string | undefined): void {
  if (!UNREACHABLE.has(failure)) return;
  const message = `Nothing listens at ${url.origin} (${failure}). Start the app first.`;
  throw new CommandError(message, EXIT.unreachable, failure);
}
