// `doctor`: sends an endpoint good and bad deliveries, and says what to mend.
import { isLoopback } from '../client/address.js';
import { parseDuration } from '../duration.js';
import type { Check } from './battery.js';
import { CommandError, command, EXIT, jsonOption, keyFileOption, UsageError } from './command.js';
import { confirm } from './confirm.js';
import { readKey } from './private-key.js';
import { probe, type Reply } from './probe.js';

export const doctor = command({
  about:
    'Sends an endpoint signed test events and forged, broken and slow ones, and prints a checklist with a cure for each failure. The events are sandbox events with the order_id "doctor-test"; the handlers of the endpoint run for them. It sends to the given URL only, and asks before it sends to another machine. The key must be the one that the endpoint has; it is never sent.',
  arguments: [{ name: 'URL', about: 'the endpoint, such as http://localhost:3000/hooks' }],
  options: {
    header: {
      type: 'string',
      value: 'NAME',
      about: 'Name of the header with the signature, instead of X-SERVICE-SIGNATURE.',
    },
    timeout: {
      type: 'string',
      value: 'TIME',
      about: 'How long to wait for an answer, and for the endpoint to give up a slow body; 15s unless given.',
    },
    yes: { type: 'boolean', about: 'Do not ask before sending to another machine.' },
    'key-file': keyFileOption,
    json: jsonOption,
  },
  examples: [
    ['payment-webhooks doctor http://localhost:3000/hooks', 'the app on this machine'],
    ['payment-webhooks doctor https://staging.shop.example/hooks --yes --json', 'a deployed app, in CI'],
  ],
  async run({ positionals: [address = ''], values, terminal }) {
    const url = endpoint(address);
    const timeoutMs = parseDuration(values.timeout ?? '15s');
    if (!timeoutMs) throw new UsageError('--timeout is no time: give one like 15s.');
    const signing = {
      privateKey: await readKey(values['key-file'], terminal),
      signatureHeader: values.header ?? 'X-SERVICE-SIGNATURE',
    };
    if (!isLoopback(url.hostname) && !values.yes) await confirm(question(url), terminal);
    const [{ battery }, { Checklist }] = await Promise.all([
      import('./battery.js'),
      import('./checklist.js'),
    ]);
    const { first, checks, slow, last } = battery(signing);
    const checklist = new Checklist(terminal, { json: values.json === true, total: checks.length + 3 });
    const examine = async (check: Check) => checklist.add(check, await probe(url, check.delivery, timeoutMs));
    checklist.begin(url);
    const reply = await probe(url, first.delivery, timeoutMs);
    refuseUnlessSomebodyListens(reply, url);
    checklist.add(first, reply);
    const givenUp = probe(url, slow.delivery, timeoutMs);
    for (const check of checks) await examine(check);
    checklist.wait(slow);
    checklist.add(slow, await givenUp);
    await examine(last);
    return checklist.end() === 0 ? EXIT.ok : EXIT.failed;
  },
});

function endpoint(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('URL is no address of an endpoint: give one like http://localhost:3000/hooks.');
  }
  return url;
}

function question(url: URL): string {
  return `${url.host} is not this machine. Its handlers will run for signed sandbox events with the order_id "doctor-test". Go on?`;
}

function refuseUnlessSomebodyListens(reply: Reply, url: URL): void {
  const { failure } = reply;
  if (failure === undefined || !['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(failure)) return;
  throw new CommandError(
    `Nothing listens at ${url.origin} (${failure}). Start the app first.`,
    EXIT.nobody,
    failure,
  );
}
