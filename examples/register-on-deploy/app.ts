// An app whose webhook is registered by its own deploy: see register.ts.
import express from 'express';
import { hooks, PATH } from './hooks.js';

export const app = express();

app.post(PATH, hooks);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}${PATH}`);
  });
}
