// Single keys, where a person sits at a terminal.
import { readFileSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import type { Terminal } from './command.js';
import { print, printable } from './print.js';

export interface Key {
  readonly letter: string;
  readonly about: string;
  readonly press: () => void | Promise<void>;
}

export interface Keyboard {
  /** Whether anybody can type. */
  readonly active: boolean;
  /** Gives the terminal back. */
  end(): void;
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/** Ctrl-C and Ctrl-D do what `q` does: a terminal that hands over single keys sends no signals. */
export function keyboard({ stdin, stdout, stderr }: Terminal, keys: readonly Key[]): Keyboard {
  if (!(stdin instanceof ReadStream) || !stdout.isTTY || inBackground()) return { active: false, end() {} };
  const onData = (data: Buffer) => {
    for (const typed of data.toString()) {
      const letter = typed === CTRL_C || typed === CTRL_D ? 'q' : typed.toLowerCase();
      const key = keys.find((each) => each.letter === letter);
      Promise.resolve(key?.press()).catch((error: Error) => print(stderr, printable(error.message)));
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

/** Started with `&`: touching the terminal would suspend the process. Only Linux says so; elsewhere, no. */
function inBackground(): boolean {
  try {
    // After the name, which may hold anything: state, parent, group, session, terminal, the terminal's group.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields[2] !== fields[5];
  } catch {
    return false;
  }
}
