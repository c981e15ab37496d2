// The example is a suite itself: this runs it as it is.
import '../../examples/with-simulator/app.test.js';
