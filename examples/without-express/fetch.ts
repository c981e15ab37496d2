// Platforms that speak fetch: Next.js route handlers, Hono, Deno, Bun, workers with Node compatibility.
import { hooks } from './hooks.js';

export async function POST(request: Request): Promise<Response> {
  const { status, headers, body } = await hooks.receive({
    rawBody: await request.arrayBuffer(),
    headers: request.headers,
  });
  return new Response(body, { status, headers });
}
