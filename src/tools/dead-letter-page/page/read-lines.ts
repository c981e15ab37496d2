// Reads an answer line by line, as the lines arrive.

/** Complete lines alone. Ends, too, where the connection is lost. */
export async function* readLines({ body }: Response): AsyncGenerator<string, void> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const read = await reader?.read().catch(() => undefined);
    if (!read || read.done) return;
    const lines = (rest + read.value).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
