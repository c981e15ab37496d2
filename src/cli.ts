#!/usr/bin/env node
// DOOR bin: runs a command line and sets the exit code.
import { main } from './tools/cli/main.js';

// A reader like `head` closes the pipe early, which is not a failure.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });

// The message alone, without Node's advice on how to trace it.
process.removeAllListeners('warning').on('warning', ({ message }) => {
  process.stderr.write(`Warning: ${message}\n`);
});

main(process.argv.slice(2), process).then((exitCode) => {
  process.exitCode = exitCode;
});
