// The way to Postgres, message by message: counted, and cut or silenced where a test says so.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

type Way = 'requests' | 'replies';

export interface Wire {
  readonly connectionString: string;
  /** How often a client that had been answered sent something. */
  turns: number;
  /** Simple queries, and executions of what was parsed. */
  statements: number;
  readonly isCut: boolean;
  /** Breaks all connections after so many more messages have passed this way, and takes no others. */
  cutAfter(way: Way, messages: number): void;
  /** Swallows every reply after the one with these words. */
  silenceAfter(words: string): void;
  close(): Promise<void>;
}

const QUERY = 'Q'.charCodeAt(0);
const EXECUTE = 'E'.charCodeAt(0);
const READY = 'Z'.charCodeAt(0);

/** @param url of the server that it leads to */
export async function startWire(url: string): Promise<Wire> {
  const [target, through] = [new URL(url), new URL(url)];
  const sockets = new Set<Socket>();
  const left = { requests: Number.POSITIVE_INFINITY, replies: Number.POSITIVE_INFINITY };
  let isCut = false;
  let last: string | undefined;
  const server = createServer((near) => {
    if (isCut) return near.destroy();
    const far = connect(Number(target.port), target.hostname);
    let answered = true;
    let [saidLast, silent] = [false, false];
    const pass = (way: Way, from: Socket, to: Socket, typed: number) => {
      const split = splitter(typed);
      const take = (message: Buffer) => {
        if (way === 'requests') {
          if (message[0] === QUERY || message[0] === EXECUTE) wire.statements += 1;
        } else if (silent) return;
        to.write(message);
        if (way === 'requests' || last === undefined) return;
        saidLast ||= message.includes(last);
        silent = saidLast && message[0] === READY;
      };
      from.on('data', (chunk) => {
        if (way === 'replies') answered = true;
        else if (answered) {
          answered = false;
          wire.turns += 1;
        }
        for (const message of split(chunk)) {
          if (isCut) return;
          if (left[way] <= 0) {
            isCut = true;
            // What has passed is still delivered.
            for (const socket of sockets) socket.end();
            return;
          }
          left[way] -= 1;
          take(message);
        }
      });
      from.on('error', () => {});
      from.on('close', () => to.destroy());
      sockets.add(from);
    };
    pass('requests', near, far, 0);
    pass('replies', far, near, 1);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  through.port = String((server.address() as AddressInfo).port);
  const wire: Wire = {
    connectionString: through.href,
    turns: 0,
    statements: 0,
    get isCut() {
      return isCut;
    },
    cutAfter: (way, messages) => {
      left[way] = messages;
    },
    silenceAfter: (words) => {
      last = words;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
  return wire;
}

/** Every message begins with a letter and its length, but the first that a client sends. */
function splitter(first: number): (chunk: Buffer) => Buffer[] {
  let typed = first;
  let rest = Buffer.alloc(0);
  return (chunk) => {
    const messages: Buffer[] = [];
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= typed + 4 && rest.length >= typed + rest.readInt32BE(typed)) {
      const length = typed + rest.readInt32BE(typed);
      messages.push(rest.subarray(0, length));
      rest = rest.subarray(length);
      typed = 1;
    }
    return messages;
  };
}
