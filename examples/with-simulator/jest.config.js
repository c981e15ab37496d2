// Compiles TypeScript with swc. The suites import './app.js', as TypeScript wants it; the file is app.ts.
export default {
  transform: { '\\.ts$': '@swc/jest' },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
};
