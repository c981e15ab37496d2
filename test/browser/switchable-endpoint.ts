// An endpoint that can be stopped, and started again on the same port.
import http, { type ServerResponse } from 'node:http';
import { freePort } from '../setup/ports.js';
import { afterwards } from '../tools/simulator/world.js';

export interface SwitchableEndpoint {
  readonly url: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** @param answer answers every request; by default with 200 */
export async function switchableEndpoint(
  answer: (response: ServerResponse) => void = (response) => response.end('{"received":true}'),
): Promise<SwitchableEndpoint> {
  const server = http.createServer((request, response) => {
    request.resume().on('end', () => answer(response));
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const port = await freePort();
  await listen(port);
  afterwards(stop);
  return { url: `http://127.0.0.1:${port}/hooks`, start: () => listen(port), stop };
}
