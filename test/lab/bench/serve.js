// Serves one contestant on a free port, and says which; ends with the process that started it.
import { createServer } from 'node:http';

const { default: contestant } = await import(`./contestants/${process.argv[2]}.js`);

process.on('disconnect', () => process.exit());
// Any message asks for memory; twice, since finalizers of the first collection free more.
process.on('message', () => {
  globalThis.gc?.();
  globalThis.gc?.();
  process.send({ memory: process.memoryUsage() });
});
// As `app.listen()` does it, for an Express app and for a plain listener.
const server = createServer({ keepAliveTimeout: 600_000 }, contestant);
server.listen(0, '127.0.0.1', 1_024, () => process.send?.({ port: server.address().port }));
