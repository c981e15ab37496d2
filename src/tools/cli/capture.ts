// `capture`: records what the real service delivers, finds the signature, and passes each delivery on unchanged.
import { deliveryRecord } from '../simulator/delivery/delivery-record.js';
import type { SimulatedDelivery } from '../simulator/delivery/simulated-delivery.js';
import { CommandError, command, EXIT, flag, jsonOption, keyFileOption, text } from './command.js';
import { attemptLog, deliveryText } from './delivery-text.js';
import { defined, endpointUrl } from './flag-values.js';
import { outputTo, print, table } from './print.js';
import { readKeys } from './read-input.js';
import { allowedHost, portOption, stopSignal } from './simulate.js';

export const capture = command({
  about:
    'Records what the real service delivers, byte for byte, on the page of the simulator. Register the address of a tunnel to this port as a webhook. It says which header has the signature, passes each delivery on to your app unchanged, and the answer back. Through the tunnel, only the capture path can be reached: /hooks, or the path of --forward.',
  options: {
    forward: text(
      { PLACE: '3000/hooks' },
      'Pass each delivery on to this URL; 3000/hooks is short for http://localhost:3000/hooks. Without it, each is recorded and answered 200.',
      { read: endpointUrl },
    ),
    port: portOption,
    'key-file': {
      ...keyFileOption,
      about: 'Read private keys from this file, one per line, instead of SERVICE_PRIVATE_KEY.',
    },
    'allow-host': text(
      { HOST: 'workstation' },
      'Also show the page at this host name or address. Never that of the tunnel: strangers would reach the page.',
      { multiple: true, read: allowedHost },
    ),
    once: flag('Print one delivery, and exit: with 0 if its signature was found, else with 1.'),
    json: jsonOption,
  },
  examples: {
    'payment-webhooks capture': 'see what the service sends, before you have an app',
    'payment-webhooks capture --forward 3000/hooks --key-file keys.txt': 'in front of the app on port 3000',
    'payment-webhooks capture --once --json | jq -r .signature.header': 'the name of the header, in a script',
  },
  async run({ values, terminal }) {
    if (terminal.env.NODE_ENV === 'production') {
      throw new CommandError(
        'NODE_ENV is "production", and capture is for development and tests. Unset NODE_ENV.',
      );
    }
    const { forward, port = 4747, once = false, json = false } = values;
    const keys = await readKeys(values['key-file'], terminal);
    const [{ startCapture }, { signatureFinder }, { nameForward, openPage, readKeyboard, resend }] =
      await Promise.all([
        import('../simulator/capture.js'),
        import('./find-signature.js'),
        import('./simulation.js'),
      ]);
    const output = outputTo(terminal, json);
    const log = attemptLog(output);
    const { stop, stopped } = stopSignal();
    const path = forward === undefined ? '/hooks' : new URL(forward).pathname;
    let first: SimulatedDelivery | undefined;
    const recorded = (delivery: SimulatedDelivery) => {
      first ??= delivery;
      if (once) stop();
    };
    const options = {
      port,
      ...defined({ allowHosts: values['allow-host'], logger: once ? undefined : log }),
    };
    const capture = { path, forward, recorded, find: signatureFinder(keys) };
    const service = await startCapture(options, capture).catch((error) => {
      stop();
      return nameForward(error);
    });
    try {
      const shown = { service, output };
      const pressed = [
        { letter: 'r', about: 'resend the last delivery', press: () => resend(shown) },
        { letter: 'o', about: 'open the page', press: () => openPage(shown) },
        { letter: 'q', about: 'quit', press: stop },
      ];
      const endKeyboard = once ? undefined : readKeyboard(terminal, pressed);
      const { dashboardUrl: page, baseUrl } = service;
      const url = baseUrl + path;
      const facts = { type: 'ready', page, capture: url, forward: forward ?? null, keys: keys.length };
      const banner = [
        output.paint('bold', 'Waiting for deliveries of the service.'),
        '',
        'Start a tunnel, and register its address, with this path, as a webhook:',
        '',
        `  cloudflared tunnel --url ${baseUrl}`,
        `  npx payment-webhooks webhooks ensure "$PUBLIC_URL${path}" --live`,
        '',
        table([
          ['page', page],
          ['captures', `POST ${url}`],
          ['passes on to', forward ?? 'nothing: answers 200 (start with --forward 3000/hooks)'],
          ['keys', `${keys.length}`],
        ]),
        '',
        ...(endKeyboard ? [...pressed.map(({ letter, about }) => `${letter}  ${about}`), ''] : []),
      ];
      if (once) print(terminal.stderr, banner.join('\n'));
      else output.print(facts, banner.join('\n'));
      log.begin();
      await stopped;
      endKeyboard?.();
    } finally {
      await service.close();
    }
    if (!once || !first) return EXIT.ok;
    const { finding } = first.attempts.at(-1) ?? {};
    const record = deliveryRecord(first);
    const text = [deliveryText(record, record.attempts.at(-1)), finding?.message].join('\n\n');
    const exitCode = finding?.header ? EXIT.ok : EXIT.failed;
    return { values: [{ ...record, signature: finding ?? null }], text, exitCode };
  },
});
