// Has the app replay dead letters, and shows how far it is, until the report comes or the person ends it.
import type { ReplayProgress, ReplayReport } from '../../dead-letters/replay.js';
import { CommandError, EXIT } from './command.js';
import type { LetterPage } from './letter-page.js';
import type { ProgressBar } from './progress-bar.js';

const AGAIN = 'What was processed stays processed. Run the same command again for the rest.';

/** @throws {CommandError} when it ends before the report; Ctrl-C ends it, and a second one the process */
export async function replayLetters(
  page: LetterPage,
  request: object,
  bar: ProgressBar,
): Promise<ReplayReport> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once('SIGINT', stop);
  let reached = '';
  try {
    for await (const line of page.stream('replay', request, controller.signal)) {
      if (line.report) return line.report as ReplayReport;
      if (line.error) throw failed(line.error);
      if (!line.progress) continue;
      const { done, total, processed, failed: failures } = line.progress as ReplayProgress;
      reached = ` after ${done} of ${total} letters`;
      bar.show(done, total, `${processed} processed, ${failures} failed`);
    }
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    throw new CommandError(`Stopped${reached}. ${AGAIN}`, EXIT.failed, 'STOPPED');
  } finally {
    process.off('SIGINT', stop);
    bar.end();
  }
  const message = `The connection ended in the middle of the replay${reached}. ${AGAIN}`;
  throw new CommandError(message, EXIT.failed, 'REPLAY_CUT');
}

function failed(error: unknown): CommandError {
  const { code = 'REPLAY_FAILED', message = 'The replay failed.' } = Object(error) as Record<string, unknown>;
  return new CommandError(`${message} ${AGAIN}`, EXIT.failed, String(code));
}
