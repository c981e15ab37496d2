// An app around `new Webhook(secret).verify(body, headers)`, the interface that two peers share.
import express from 'express';

export function verifying(Webhook) {
  const webhook = new Webhook(Buffer.from(process.env.SERVICE_PRIVATE_KEY).toString('base64'));
  const handlers = new Map([['transaction.paid', async () => {}]]);
  return express().post('/hooks', express.raw({ type: 'application/json' }), async (req, res) => {
    let event;
    try {
      // One of them leaves the parsing to its caller.
      event = webhook.verify(req.body, req.headers) ?? JSON.parse(req.body);
    } catch {
      res.status(400).json({});
      return;
    }
    await handlers.get(event.type)?.(event);
    res.json({ received: true });
  });
}
