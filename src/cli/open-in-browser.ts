// Opens an address in the person's browser.
import { spawn } from 'node:child_process';

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  // The empty words are the title of a window, which `start` would take an address for.
  win32: ['cmd', '/c', 'start', '""'],
};

/** @param otherwise called when there is no program that could do it */
export function openInBrowser(url: string, otherwise: () => void): void {
  const [program = '', ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.once('error', otherwise);
  child.once('exit', (code) => {
    if (code) otherwise();
  });
  child.unref();
}
