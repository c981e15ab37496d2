// `once` on MariaDB, as text and prepared: what every database keeps, and what only this one can do wrong.
import { describe } from '@jest/globals';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { writesOnce } from './once.js';
import { survivesFaults } from './once-faults.js';
import { mariadbWorld, ownWorld } from './worlds.js';

withMariadb('once, on MariaDB', () => {
  const mariadb = ownMariadb();
  describe.each(['query', 'execute'] as const)('through %s of mysql2', (verb) => {
    const world = ownWorld(() => mariadbWorld(mariadb, verb));
    writesOnce(world);
    survivesFaults(world);
  });
});
