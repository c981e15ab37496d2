// Where the app and the workers meet.

export const QUEUE = 'webhooks';
export const REDIS_URL = process.env.REDIS_URL ?? 'redis://localhost:6379';
