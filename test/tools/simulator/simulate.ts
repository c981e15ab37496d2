// A simulator in a process of its own, to be killed: node simulate.ts STATE_FILE
import { startSimulator } from '../../../src/simulator.js';

const [, , state = ''] = process.argv;
const service = await startSimulator({ port: 0, clock: 'real', retry: Array(60).fill(150), state });
console.log(service.baseUrl);
