// Node's environment for Jest under `npm run mutate`: once a test has failed the mutant is caught, and the others are skipped.
const { TestEnvironment } = require('jest-environment-node');

/** The mutant that a test has caught; one process tries many mutants, each on several test files. */
let caught;

class MutationEnvironment extends TestEnvironment {
  handleTestEvent({ name, test }) {
    const mutant = process.env.__STRYKER_ACTIVE_MUTANT__;
    if (mutant === undefined) return;
    if (name === 'test_start' && mutant === caught) test.mode = 'skip';
    if (name === 'test_done' && test.errors.length > 0) caught = mutant;
  }
}

module.exports = MutationEnvironment;
