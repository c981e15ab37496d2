// By hand on node:http alone.
import { schemas } from './by-hand.js';
import { onHttp } from './on-http.js';

export default onHttp(schemas);
