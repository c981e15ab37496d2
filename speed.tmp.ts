import { startSimulator } from './src/simulator.js';
import http from 'node:http';
const s = await startSimulator({ port: 0 });
const url = process.argv[2];
if (url) await s.webhooks.create({url}); else await s.attach((req, res) => { req.resume(); req.on('end', () => res.end('{}')); }, '/hooks');
for (const n of [1000, 1000, 1000, 1000]) { const t = performance.now(); await s.trigger('transaction.paid', {}, {count: n}); const ms = performance.now() - t; console.log(n, ms.toFixed(0), 'ms', (n / ms * 1000).toFixed(0), '/s'); }
if (process.argv[3]) {
for (let i = 0; i < 100; i++) { await s.trigger('transaction.paid', {}, {count: 1000}); if (i % 20 === 19) { globalThis.gc?.(); console.log(i, (process.memoryUsage().heapUsed/1e6).toFixed(1), (process.memoryUsage().rss/1e6).toFixed(1), s.deliveries().length); } }
}
await s.close();
