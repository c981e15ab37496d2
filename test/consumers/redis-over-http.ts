// A Redis that takes commands as JSON over HTTP, as hosts of Redis for serverless functions offer it: a real one behind it.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Redis } from 'ioredis';

export interface RedisOverHttp {
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

export async function redisOverHttp(url: string): Promise<RedisOverHttp> {
  const client = new Redis(url);
  const token = randomUUID();
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${token}`) return answer(401, { error: 'Unauthorized' });
    try {
      const [command = '', ...args] = (await json(request)) as string[];
      return answer(200, { result: await client.call(command, ...args) });
    } catch (error) {
      return answer(400, { error: (error as Error).message });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    token,
    async close() {
      client.disconnect();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
