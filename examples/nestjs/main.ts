// Mounts the receiver above the body parsers of NestJS.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { HOOKS } from './hooks.module.js';

export const app = await NestFactory.create(AppModule);

// listen() adds the parsers, so this comes before them.
app.use('/hooks', app.get(HOOKS));
app.enableShutdownHooks();

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  await app.listen(port);
  console.log(`Listening on http://localhost:${port}/hooks`);
}
