// `keys …`: the private key of the simulator's account.
import { command } from './command.js';
import { ControlPlane, controlOptions } from './control-plane.js';

export const rotate = command({
  about:
    'Makes a new private key for the account of the simulator, and prints it once. From then on every delivery is signed with it, and the API refuses the old key. An endpoint that knows only the old key answers 401 until it gets the new one.',
  options: controlOptions,
  examples: {
    'payment-webhooks keys rotate': 'then trigger an event, to see what an endpoint with the old key answers',
    'payment-webhooks keys rotate >> .env': 'for the next start of your app',
  },
  async run({ values, terminal }) {
    const control = new ControlPlane(values.url, terminal);
    const { data } = await control.post<{ data: { private_key: string } }>('/keys/rotate');
    return {
      values: [data],
      text: `SERVICE_PRIVATE_KEY=${data.private_key}`,
      notes: values.json ? [] : NOTES,
    };
  },
});

const NOTES = [
  'The old key no longer works. Start your app with the new one, or with both.',
  '`webhooks` and `account` read it from SERVICE_PRIVATE_KEY.',
  'To see what an endpoint with the old key answers: payment-webhooks trigger transaction.paid --wait',
];
