// Counts the statements that reach Postgres, in the bytes between a client and the server.

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface CountedPostgres {
  readonly connectionString: string;
  /** Statements since the last call. */
  taken(): number;
  stop(): Promise<void>;
}

/** A simple query, and the execution of one that was parsed: each is one statement, or several in one text. */
const STATEMENTS = new Set(['Q', 'E']);

export async function countedPostgres(connectionString: string): Promise<CountedPostgres> {
  const target = new URL(connectionString);
  const sockets = new Set<Socket>();
  let statements = 0;
  const server: Server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const read = messageReader((type) => {
      if (STATEMENTS.has(type)) statements += 1;
    });
    client.on('data', read);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => client.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const counted = new URL(connectionString);
  counted.port = String((server.address() as AddressInfo).port);
  return {
    connectionString: counted.href,
    taken: () => {
      const taken = statements;
      statements = 0;
      return taken;
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Every message but the first of a connection begins with a letter and its length. */
function messageReader(onMessage: (type: string) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let typed = 0;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= typed + 4) {
      const length = typed + rest.readInt32BE(typed);
      if (rest.length < length) return;
      if (typed === 1) onMessage(String.fromCharCode(rest[0] ?? 0));
      rest = rest.subarray(length);
      typed = 1;
    }
  };
}
