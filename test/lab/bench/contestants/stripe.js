// stripe, as its guide shows it: express.raw(), then constructEvent().
import express from 'express';
import Stripe from 'stripe';

const { webhooks } = new Stripe('sk_test_bench');
const handlers = new Map([['payment_intent.succeeded', async () => {}]]);

export default express().post('/hooks', express.raw({ type: 'application/json' }), async (req, res) => {
  let event;
  try {
    event = webhooks.constructEvent(
      req.body,
      req.headers['stripe-signature'],
      process.env.SERVICE_PRIVATE_KEY,
    );
  } catch (error) {
    res.status(400).send(`Webhook Error: ${error.message}`);
    return;
  }
  await handlers.get(event.type)?.(event);
  res.json({ received: true });
});
