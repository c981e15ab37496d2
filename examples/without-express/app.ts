// node:http alone: the receiver is a request handler by itself.
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { hooks } from './hooks.js';

export const app = createServer(async (req, res) => {
  switch (`${req.method} ${req.url}`) {
    // It reads the body itself, within its limit and its deadline.
    case 'POST /hooks':
      return hooks(req, res);

    // When something else has to read the body first. Limit and deadline are then its business.
    case 'POST /hooks/by-hand': {
      const { status, headers, body } = await hooks.receive({
        rawBody: await buffer(req),
        headers: req.headers,
      });
      return res.writeHead(status, headers).end(body);
    }

    default:
      return res.writeHead(404).end();
  }
});

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  app.listen(port, () => console.log(`Listening on http://localhost:${port}/hooks`));
}
