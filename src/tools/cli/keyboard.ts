// Reads single keys, when `simulate` runs in a terminal.
import { readFileSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import type { Terminal } from './command.js';
import { describeFailure } from './failure.js';
import { print } from './print.js';

export interface Key {
  readonly letter: string;
  readonly about: string;
  readonly press: () => void | Promise<void>;
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/** Ctrl-C and Ctrl-D are `q`: a terminal that passes on single keys sends no signals. */
export function keyboard({ stdin, stdout, stderr }: Terminal, keys: readonly Key[]) {
  if (!(stdin instanceof ReadStream) || !stdout.isTTY || inBackground()) return { active: false, end() {} };
  const onData = (data: Buffer) => {
    for (const typed of data.toString()) {
      const letter = typed === CTRL_C || typed === CTRL_D ? 'q' : typed.toLowerCase();
      const key = keys.find((each) => each.letter === letter);
      Promise.resolve(key?.press()).catch((error) => print(stderr, describeFailure(error).text));
    }
  };
  stdin.setRawMode(true).on('data', onData).resume();
  return {
    active: true,
    end() {
      stdin.off('data', onData).setRawMode(false).pause();
    },
  };
}

/** Whether it was started with `&`, where using the terminal suspends the process. Only Linux tells. */
function inBackground(): boolean {
  try {
    // After the name, which may contain anything: state, parent, group, session, terminal, foreground group.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields[2] !== fields[5];
  } catch {
    return false;
  }
}
