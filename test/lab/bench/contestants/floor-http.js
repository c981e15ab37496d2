// By hand on node:http alone, without a look at what is in the event: as little as can be done.
import { onHttp } from './on-http.js';

export default onHttp(null);
