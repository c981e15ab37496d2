// The example is a suite itself: this runs it as it is.
import '../../examples/testing-with-jest/app.test.js';
