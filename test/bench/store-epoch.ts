// One epoch of a store in a process of its own, with a server of its own: store-epoch.ts STORE ROUNDS BUILD [OLD BUILD]
import { oldName } from './contestants.js';
import type { Round, Sample } from './epoch.js';
import { shuffled } from './numbers.js';
import { stores } from './store-subjects.js';
import { measureWindow } from './store-window.js';

const [name = '', count, ...folders] = process.argv.slice(2);
const open = stores[name];
if (!open) throw new Error(`There is no store "${name}".`);
process.once('disconnect', () => process.exit(1));

const { subjects, serverPid, close } = await open(
  folders.map((folder, index) => ({ folder, named: index === 0 ? (one) => one : oldName })),
);
try {
  // To warm up.
  for (const subject of shuffled(subjects)) await measureWindow(subject, serverPid);
  const rounds: Round[] = [];
  while (rounds.length < Number(count)) {
    const round: Record<string, Sample> = {};
    for (const subject of shuffled(subjects)) round[subject.name] = await measureWindow(subject, serverPid);
    rounds.push(round);
  }
  process.send?.(rounds);
} finally {
  await close();
  process.removeAllListeners('disconnect');
  process.disconnect();
}
