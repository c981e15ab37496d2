// Receives by hand on node:http, the body collected by hand too.
import { LIMIT, receive, send, UNREADABLE } from './by-hand.js';

export function onHttp(schemas) {
  return (req, res) => {
    if (req.method !== 'POST' || req.url !== '/hooks') {
      res.writeHead(404).end();
      return;
    }
    const chunks = [];
    let length = 0;
    req.on('data', (chunk) => {
      length += chunk.length;
      if (length > LIMIT) req.destroy();
      else chunks.push(chunk);
    });
    req.on('error', () => send(res, UNREADABLE));
    req.on('end', () => {
      const bytes = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length);
      receive(bytes, req.headers['x-service-signature'], schemas).then((answer) => send(res, answer));
    });
  };
}
