// By hand on node:http alone.
import { onHttp } from './on-http.js';

export default onHttp({ validate: true });
