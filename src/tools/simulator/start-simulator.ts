// Starts the simulator: its state file, its app and its port.
import type { RequestListener } from 'node:http';
import { ConfigurationError } from '../../errors.js';
import { writeLog } from '../../logger.js';
import { isLocalHost } from './address/host.js';
import { Stream } from './api/stream.js';
import { closeServer, listen, urlHost } from './listen.js';
import { Service } from './service.js';
import { resolveSettings, type SimulatorOptions, type SimulatorSettings } from './settings.js';
import { Simulator } from './simulator.js';
import { StateFile } from './state/state-file.js';

/**
 * Starts the service on this machine: its API, signed deliveries with retries, faults, and a record of every attempt.
 *
 * @throws {ConfigurationError} for an invalid option, a port in use, a state file that cannot be used, or no Express
 * @example
 * const service = await startSimulator({ port: 0 });
 * await service.attach(app, '/hooks');
 * const [delivery] = await service.trigger('transaction.paid');
 * await service.close();
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const settings = resolveSettings(options);
  const { simulatorApp } = await importApp();
  const file = settings.state === undefined ? undefined : await StateFile.open(settings.state);
  try {
    return await start(settings, file, simulatorApp);
  } catch (error) {
    await file?.close();
    throw error;
  }
}

async function start(
  settings: SimulatorSettings,
  file: StateFile | undefined,
  simulatorApp: (service: Service, stream: Stream, baseUrl: () => string) => RequestListener,
): Promise<Simulator> {
  const service = new Service(settings, file);
  const isLocal = isLocalHost(settings.host);
  let baseUrl = '';
  const stream = new Stream(service);
  const app = simulatorApp(service, stream, () => baseUrl);
  try {
    // Before the port: a request must find its state file open.
    await service.open();
    const { server, port } = await listen(app, settings);
    baseUrl = `http://${urlHost(settings.host)}:${port}`;
    service.targets.own = { port, everywhere: !isLocal };
    const { host, logger } = settings;
    if (!isLocal) writeLog(logger, 'warn', { host }, 'the simulator can be reached from other machines');
    // Last: a start that fails must send nothing.
    service.resume();
    return new Simulator(service, baseUrl, async () => {
      stream.close();
      await closeServer(server);
    });
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** Imported late: all that does not start a simulator works without Express. */
function importApp() {
  return import('./simulator-app.js').catch((error: Error) => {
    if (!/Cannot find (module|package) 'express'/.test(error.message)) throw error;
    throw new ConfigurationError('The simulator needs Express. Run npm install express.');
  });
}
