// Starts the simulator: its state file, its port, and the Express app with the API, the control plane and the page.
import express, { type Express, type Router } from 'express';
import { writeLog } from '../logger.js';
import { builtPage, pageRouter } from '../pages/built-page.js';
import { answerErrors } from '../pages/http-error.js';
import { notFound } from '../pages/route.js';
import { isLocalHost } from './address/host.js';
import { controlPlane } from './api/control-plane.js';
import { guard } from './api/guard.js';
import { serviceApi } from './api/service-api.js';
import { Stream } from './api/stream.js';
import { closeServer, listen, urlHost } from './listen.js';
import { Service } from './service.js';
import { resolveSettings, type SimulatorOptions, type SimulatorSettings } from './settings.js';
import { Simulator } from './simulator.js';
import { StateFile } from './state/state-file.js';

/**
 * Starts the service on this machine: its API, signed deliveries with retries, faults, and a record of every attempt.
 *
 * @throws {ConfigurationError} for an invalid option, a port in use, or a state file that cannot be used
 * @example
 * const service = await startSimulator({ port: 0 });
 * await service.attach(app, '/hooks');
 * const [delivery] = await service.trigger('transaction.paid');
 * await service.close();
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const settings = resolveSettings(options);
  const file = settings.state === undefined ? undefined : await StateFile.open(settings.state);
  try {
    return await start(settings, file);
  } catch (error) {
    await file?.close();
    throw error;
  }
}

async function start(settings: SimulatorSettings, file: StateFile | undefined): Promise<Simulator> {
  const service = new Service(settings, file);
  const isLocal = isLocalHost(settings.host);
  let baseUrl = '';
  const stream = new Stream(service);
  const app = simulatorApp(
    service,
    controlPlane(service, stream, () => baseUrl),
  );
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

function simulatorApp(service: Service, controlRouter: Router): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(guard(service.settings.allowHosts));
  app.use('/api/v2', serviceApi(service, false));
  app.use('/sandbox/api/v2', serviceApi(service, true));
  app.use('/_sim', controlRouter);
  app.use(pageRouter(builtPage('dashboard'), NOTICE));
  app.use(notFound);
  app.use(answerErrors(service.settings.logger));
  return app;
}

const NOTICE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>payment-webhooks simulator</title>
<h1>The simulator is running</h1>
<p>Its page was not built. Run <code>npm run build</code>. The control plane answers under <a href="/_sim/readyz">/_sim</a>.</p>
</html>
`;
