// Where an error was thrown, without its message: the message may hold what a customer wrote.

// Only what is a path or a URL: a stack is text that anybody may set, and might quote a customer too.
const FRAME = /^\s{4}at (?:.{1,100} \(|async )?((?:file:\/|node:|\/|[A-Za-z]:[\\/]).{1,300}?:\d+:\d+)\)?$/;
const MOST = 5;

/** `file:line:column` of the innermost frames, or undefined when message and frames cannot be told apart. */
export function describeFrames(error: Error): string[] | undefined {
  const { stack, message } = error;
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined;
  // V8 writes "Name: message" and then the frames. A message may itself look like a frame, so cut it away.
  const end = stack.indexOf(message);
  if (end === -1 || end > 200) return undefined;
  const frames: string[] = [];
  for (const line of stack
    .slice(end + message.length)
    .split('\n')
    .slice(1)) {
    const frame = FRAME.exec(line)?.[1];
    if (frame === undefined || frames.length === MOST) break;
    frames.push(frame);
  }
  return frames.length > 0 ? frames : undefined;
}
