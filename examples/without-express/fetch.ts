// Servers that speak fetch: Next.js route handlers, Bun, Deno, Cloudflare Workers.
import { hooks } from './hooks.js';

/** `app/hooks/route.ts` of Next.js. */
export const POST = hooks.fetch;

/** What Bun, `deno serve` and Cloudflare Workers start. */
export default { fetch: hooks.fetch };
