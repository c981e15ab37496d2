// `account`: the account of the key.
import { command } from './command.js';
import { table } from './print.js';
import { serviceOptions, withService } from './service.js';

export const account = command({
  about:
    'Shows the account as the service describes it: a quick check that address and key are right. It calls the simulator on this machine unless you give --live.',
  options: serviceOptions,
  examples: {
    'payment-webhooks account': 'the account of the simulator',
    'SERVICE_API_URL=https://api.example.com payment-webhooks account --live --key-file key.txt':
      'the live account',
  },
  async run({ values, terminal }) {
    const found = await withService(values, terminal, (service) => service.account.me());
    const cell = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
    return {
      values: [found],
      text: table(Object.entries(found).map(([name, value]) => [name, cell(value)])),
    };
  },
});
