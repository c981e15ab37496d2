// The release step of a deploy: makes sure that the service delivers to this app, exactly once, however often it runs.
import { ServiceClient, ServiceError } from 'payment-webhooks/client';
import { hooks, PATH } from './hooks.js';

/** @param publicUrl where the service reaches the app */
export async function register(publicUrl: string): Promise<string> {
  // Address and key come from SERVICE_API_URL and SERVICE_PRIVATE_KEY.
  const service = new ServiceClient();
  const url = new URL(PATH, publicUrl).href;
  const { action, webhook } = await service.webhooks.ensure(
    { url, events: hooks.eventNames },
    { signal: AbortSignal.timeout(60_000) },
  );
  return `${action}: ${webhook.url} gets ${webhook.events.join(', ')}`;
}

if (process.argv[1] === import.meta.filename) {
  register(process.env.PUBLIC_URL ?? '').then(
    (done) => console.log(done),
    (error) => {
      // A failed release step stops the deploy. The message never holds the key.
      const reason = ServiceError.is(error) ? `${error.code}: ${error.message}` : String(error);
      console.error(`The webhook could not be registered. ${reason}`);
      process.exitCode = 1;
    },
  );
}
