declare const config: { readonly testPathIgnorePatterns: readonly string[] };
export default config;
