// Starts everything on one port, and stops it again.
import { writeLog } from '../logger.js';
import { simulatorApp } from './app.js';
import { Simulator } from './handle.js';
import { closeServer, listen, urlHost } from './listen.js';
import { Service } from './service.js';
import { resolveSettings, type SimulatorOptions } from './settings.js';
import { readState } from './state-file.js';

/**
 * Starts the service on this machine: its API, signed deliveries with retries, faults, a record of every attempt.
 *
 * @throws {ConfigurationError} for a wrong option, a taken port, or a state file that cannot be used
 * @example
 * const service = await startSimulator({ port: 0 });
 * await service.attach(app, '/hooks');
 * const [delivery] = await service.trigger('transaction.paid');
 * await service.close();
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const settings = resolveSettings(options);
  const state = settings.state === undefined ? undefined : readState(settings.state);
  const service = new Service(settings, state);
  let baseUrl = '';
  const { app, stream } = simulatorApp(service, () => baseUrl);
  const { server, port } = await listen(app, settings);
  baseUrl = `http://${urlHost(settings.host)}:${port}`;
  service.targets.ownPort = port;
  const close = async () => {
    stream.close();
    await closeServer(server);
  };
  try {
    await service.open();
  } catch (error) {
    await close();
    throw error;
  }
  if (!/^(127\.|::1$|localhost$)/.test(settings.host)) {
    const { logger, host } = settings;
    writeLog(logger, 'warn', { host }, 'the simulator can be reached from other machines');
  }
  return new Simulator(service, { baseUrl, close });
}
