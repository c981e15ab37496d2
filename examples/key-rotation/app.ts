// Accepts a delivery that any of several keys signed. Whether the service uses two for a time is not documented.
import express from 'express';
import { receiver } from 'payment-webhooks';

// The new key first. Without an old one this is an ordinary receiver.
const { SERVICE_PRIVATE_KEY = '', SERVICE_PRIVATE_KEY_OLD } = process.env;
const keys = SERVICE_PRIVATE_KEY_OLD ? [SERVICE_PRIVATE_KEY, SERVICE_PRIVATE_KEY_OLD] : [SERVICE_PRIVATE_KEY];

/** When a delivery was last signed with the old key. */
export let oldKeyLastUsed: Date | undefined;

export const app = express();

app.post(
  '/hooks',
  receiver({
    privateKey: keys,
    handlers: {
      'transaction.paid': async (event, { log, keyIndex }) => {
        log.info({ order_id: event.payload.transaction.order_id, keyIndex }, 'order paid');
      },
    },
    observer: {
      settled({ keyIndex }) {
        if (keyIndex === 1) oldKeyLastUsed = new Date();
      },
    },
  }),
);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}/hooks`);
  });
}
