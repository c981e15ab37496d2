// What the spans and metrics are filed under.

export const SCOPE = 'payment-webhooks';
