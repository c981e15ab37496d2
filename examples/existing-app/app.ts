// The same app in four placements, and one that logs with pino-http, each under a path of its own.
import express from 'express';
import { app as above } from './above-the-parser.js';
import { app as keeping } from './parser-keeps-bytes.js';
import { app as sparing } from './parser-where-needed.js';
import { app as logging } from './request-log.js';
import { app as wrong } from './wrong.js';

export const app = express();

app.use('/above', above);
app.use('/keeping', keeping);
app.use('/sparing', sparing);
app.use('/wrong', wrong);
app.use('/logging', logging);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}`);
  });
}
