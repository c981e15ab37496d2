#!/usr/bin/env node
// DOOR bin: picks a command, prints help, sets the exit code.
import { main } from './cli/main.js';

// A reader like `head` that has seen enough is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

// In the words of the warning alone, without Node's advice on how to trace it.
process.removeAllListeners('warning').on('warning', ({ message }) => {
  process.stderr.write(`Warning: ${message}\n`);
});

main(process.argv.slice(2), process).then((exitCode) => {
  process.exitCode = exitCode;
});
