// `account`: the account that the key belongs to.
import { command, EXIT } from './command.js';
import { printResult, table } from './print.js';
import { serviceOptions, withService } from './service.js';

export const account = command({
  about:
    'Shows the account as the service describes it: a quick check that address and key are right. It asks the simulator on this machine unless --live is given.',
  arguments: [],
  options: serviceOptions,
  examples: [
    ['payment-webhooks account', 'the account of the simulator'],
    [
      'SERVICE_API_URL=https://api.example.com payment-webhooks account --live --key-file key.txt',
      'the live one',
    ],
  ],
  async run({ values, terminal }) {
    const found = await withService(values, terminal, (service) => service.account.me());
    const rows = Object.entries(found).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
    printResult(terminal, { json: values.json, values: [found], text: table(rows) });
    return EXIT.ok;
  },
});
