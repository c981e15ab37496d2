// Refuses connections to the default ports of servers: a test talks to what the setup started, or to nothing.
import { Socket } from 'node:net';

const SERVERS = { 3306: 'MariaDB', 5432: 'Postgres', 6379: 'Redis', 5672: 'RabbitMQ', 4222: 'NATS' };
const guarded = Symbol.for('no default ports');

// Jest gives every file the same modules of Node.
if (!Socket.prototype[guarded]) {
  const { connect } = Socket.prototype;
  Socket.prototype[guarded] = true;
  Socket.prototype.connect = function connectElsewhere(...given) {
    // node:net passes arguments that it has normalized as one array.
    const [target] = Array.isArray(given[0]) ? given[0] : given;
    const server = SERVERS[target?.port ?? target];
    if (server)
      throw new Error(`A test dials the default port of ${server}. Use the one that the setup gave.`);
    return connect.apply(this, given);
  };
}
