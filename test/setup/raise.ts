// What throws, as an expression: for handlers, schemas, stores and key functions of one line.

export function raise(error: unknown): never {
  throw error;
}

export function down(): never {
  throw new Error('down');
}
